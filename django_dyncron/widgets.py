"""A text field that suggests values without forbidding others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django import forms
from django.forms.renderers import BaseRenderer
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString


class SuggestingInput(forms.TextInput):
    """A text input with a ``<datalist>``, filled by ``suggestions`` each time it is shown.

    Rendered here rather than by a template, which some form renderers would not find.
    """

    def __init__(
        self, suggestions: Callable[[], Iterable[str]], attrs: dict[str, Any] | None = None
    ) -> None:
        super().__init__(attrs)
        self._suggestions = suggestions

    def render(
        self,
        name: str,
        value: Any,
        attrs: dict[str, Any] | None = None,
        renderer: BaseRenderer | None = None,
    ) -> SafeString:
        list_id = f"{(attrs or {}).get('id', name)}_suggestions"
        text_input = super().render(name, value, {**(attrs or {}), "list": list_id}, renderer)
        options = format_html_join(
            "", '<option value="{}">', ([each] for each in sorted(self._suggestions()))
        )
        return format_html('{}<datalist id="{}">{}</datalist>', text_input, list_id, options)
