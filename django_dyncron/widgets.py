"""Text fields that suggest values without forbidding others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from django import forms
from django.forms.renderers import BaseRenderer
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from .describe import describe

_COMMON_EXPRESSIONS = ("*/5 * * * *", "0 * * * *", "0 6 * * *", "0 9 * * MON-FRI", "0 6 1 * *")


class SuggestingInput(forms.TextInput):
    """A text input with a ``<datalist>``, filled by ``suggestions`` each time it is shown.

    Rendered here rather than by a template, which some form renderers would not find.
    """

    def __init__(
        self, suggestions: Callable[[], Iterable[str]], attrs: dict[str, Any] | None = None
    ) -> None:
        super().__init__(attrs)
        self._suggestions = suggestions

    def options(self) -> Iterable[SafeString]:
        """Return the ``<option>`` of each suggestion."""
        return (format_html('<option value="{}">', each) for each in sorted(self._suggestions()))

    def render(
        self,
        name: str,
        value: Any,
        attrs: dict[str, Any] | None = None,
        renderer: BaseRenderer | None = None,
    ) -> SafeString:
        list_id = f"{(attrs or {}).get('id', name)}_suggestions"
        text_input = super().render(name, value, {**(attrs or {}), "list": list_id}, renderer)
        options = format_html_join("", "{}", ([each] for each in self.options()))
        return format_html('{}<datalist id="{}">{}</datalist>', text_input, list_id, options)


class ExpressionInput(SuggestingInput):
    """A cron expression, with common ones in words: as suggestions, and as buttons with a script.

    The buttons are hidden until ``preview.js`` shows them, since they do nothing by themselves.
    """

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        super().__init__(lambda: _COMMON_EXPRESSIONS, attrs)

    def options(self) -> Iterable[SafeString]:
        return (_labelled(each, f"{each} – {describe(each)}") for each in self._suggestions())

    def render(self, name: str, *args: Any, **options: Any) -> SafeString:
        buttons = format_html_join(
            "",
            '<button type="button" value="{}" data-fill="{}">{}</button> ',
            ([each, name, describe(each)] for each in self._suggestions()),
        )
        return format_html(
            '<div class="dyncron-input">{}'
            '<div class="dyncron-shortcuts" role="group" aria-label="{}" hidden>{}</div></div>',
            super().render(name, *args, **options),
            _("Common expressions"),
            buttons,
        )


class TimeZoneInput(SuggestingInput):
    """An IANA time zone: ``suggestions`` first, then all, each with its offset from UTC as of now.

    With a script there is a button for the zone of the browser.
    """

    def options(self) -> Iterable[SafeString]:
        offsets = zone_offsets()
        names = dict.fromkeys([*self._suggestions(), *sorted(offsets)])
        return (_labelled(name, f"{name} ({offsets[name]})") for name in names if name in offsets)

    def render(self, name: str, *args: Any, **options: Any) -> SafeString:
        return format_html(
            '<div class="dyncron-input">{}<div class="dyncron-shortcuts" hidden>'
            '<button type="button" data-fill="{}" data-words="{}" data-own-zone></button>'
            "</div></div>",
            super().render(name, *args, **options),
            name,
            # Translators: {} becomes the name of a time zone.
            _("{} (this browser)"),
        )


@cache
def zone_names() -> frozenset[str]:
    """Return the names of the time zones a person may mean."""
    return frozenset(
        name
        for name in available_timezones()
        if not name.startswith(("posix", "right/")) and name not in ("Factory", "localtime")
    )


def zone_offsets() -> Mapping[str, str]:
    """Return the offset of each zone as ``UTC+05:30``, right to within the hour."""
    now = timezone.now().astimezone(UTC)
    return _offsets_at(now.replace(minute=0, second=0, microsecond=0))


@lru_cache(maxsize=1)
def _offsets_at(instant: datetime) -> Mapping[str, str]:
    return MappingProxyType({name: _offset_text(instant, name) for name in zone_names()})


def _offset_text(instant: datetime, name: str) -> str:
    offset = instant.astimezone(ZoneInfo(name)).utcoffset() or timedelta()
    minutes = offset // timedelta(minutes=1)
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'-' if minutes < 0 else '+'}{hours:02}:{rest:02}"


def _labelled(value: str, label: str) -> SafeString:
    # The label holds the value too: Firefox shows it in the place of the value.
    return format_html('<option value="{}" label="{}">', value, label)
