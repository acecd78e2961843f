"""The form of a cron job: whatever it accepts, the scheduler can run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.fields import InvalidJSONInput
from django.forms.widgets import Script
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .conf import database_alias, read_settings
from .models import CronJob
from .registry import registered_tasks
from .widgets import ExpressionInput, SuggestingInput, TimeZoneInput

if TYPE_CHECKING:
    _ModelForm = forms.ModelForm[CronJob]
else:
    _ModelForm = forms.ModelForm

CHECK_BUTTON = "_check"
"""Name of the button that has a form checked and shown again, and saves nothing."""


class JSONObjectField(forms.JSONField):
    """A JSON object typed as text; empty is ``{}``. Says where the text stops being JSON."""

    widget = forms.Textarea(
        attrs={"rows": 4, "cols": 60, "class": "dyncron-code", "spellcheck": "false"}
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        # A model field suggests its own widget, a taller one.
        super().__init__(*args, **{**options, "widget": self.widget})

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str) and value.strip():
            try:
                json.loads(value)
            except json.JSONDecodeError as error:
                raise ValidationError(
                    _(
                        "This is not JSON: %(problem)s (line %(line)d, column %(column)d). "
                        'Write an object such as {"user_id": 7}.'
                    ),
                    code="invalid",
                    params={"problem": error.msg, "line": error.lineno, "column": error.colno},
                ) from error
        return super().to_python(value)

    def clean(self, value: Any) -> Any:
        cleaned = super().clean(value)
        return {} if cleaned is None else cleaned

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, InvalidJSONInput):
            return value
        return json.dumps(value, indent=2, ensure_ascii=False, cls=self.encoder)


def _likely_zones() -> Iterable[str]:
    return read_settings()[0].time_zone, timezone.get_current_timezone_name(), "UTC"


def _queue_systems() -> Iterable[str]:
    return read_settings()[0].enqueuers


class CronJobForm(_ModelForm):
    """Edits a cron job, by the rules of :meth:`CronJob.full_clean`.

    Submitted by the button :data:`CHECK_BUTTON` it is validated and never valid to be saved.
    An empty queue becomes the one that the task suggests. A job that was paused or resumed while
    its form was open stays so, unless the form was used to switch it.
    """

    class Media:
        js = (Script("django_dyncron/preview.js", defer=True),)

    class Meta:
        model = CronJob
        fields = "__all__"
        field_classes = {"payload": JSONObjectField, "options": JSONObjectField}
        widgets = {
            "job_id": forms.TextInput(attrs={"class": "vTextField"}),
            "task_name": SuggestingInput(registered_tasks, {"class": "vTextField"}),
            "cron_expression": ExpressionInput(
                {"class": "vTextField dyncron-code", "spellcheck": "false"}
            ),
            "time_zone": TimeZoneInput(_likely_zones, {"class": "vTextField"}),
            "enqueuer": SuggestingInput(_queue_systems, {"class": "vTextField"}),
            "description": forms.Textarea(attrs={"rows": 2, "cols": 60}),
            "ping_url": forms.URLInput(attrs={"class": "vURLField"}),
        }

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.instance._state.adding and self.instance._state.db is None:
            # Where a router looks for a job id that is taken, if it has no database in mind.
            self.instance._state.db = database_alias(read_settings()[0])
        for name in ("starts_at", "ends_at"):
            if name in self.fields:
                self.fields[name].help_text = _("In %(zone)s time.") % {
                    "zone": timezone.get_current_timezone_name()
                }
        if "is_active" in self.fields:
            # Tells what was switched here from what somebody else switched meanwhile.
            self.fields["is_active"].show_hidden_initial = True
        if "queue" in self.fields:
            self.fields["queue"].required = False
            self.fields["queue"].help_text = _("Empty: the one the task suggests, or “default”.")
            if self.instance._state.adding and "queue" not in (options.get("initial") or {}):
                self.initial["queue"] = ""

    @property
    def is_only_checked(self) -> bool:
        """Whether this form was submitted to be looked at, not to be saved."""
        return self.is_bound and CHECK_BUTTON in self.data

    def is_valid(self) -> bool:
        return super().is_valid() and not self.is_only_checked

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        # What is said about a field at fault is about what was typed, not about what was saved.
        for name in ("cron_expression", "time_zone", "payload", "task_name"):
            if name in self.errors:
                setattr(self.instance, name, self[name].data or "")
        if cleaned is not None and cleaned.get("queue") == "":
            task = registered_tasks().get(cleaned.get("task_name", ""))
            cleaned["queue"] = task.queue if task else "default"
        return cleaned

    def clean_is_active(self) -> bool:
        typed: bool = self.cleaned_data["is_active"]
        # A client other than a browser may not send what the form began with: it means it.
        tells_initial = self["is_active"].html_initial_name in self.data
        if self.instance._state.adding or not tells_initial or "is_active" in self.changed_data:
            return typed
        return self.instance.is_active

    def add_error(self, field: str | None, error: Any) -> None:
        """Add an error; a fault of a field that this form lacks becomes one of the whole."""
        if field is not None or not hasattr(error, "error_dict"):
            super().add_error(field, error)
            return
        for name, errors in error.error_dict.items():
            super().add_error(name if name in self.fields else None, errors)
