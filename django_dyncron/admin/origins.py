"""Where a cron job came from: a note in the form, and a mark if its declaration is gone."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from ..models import CronJob, Origin
from ..outlook import JobState
from .database import Base
from .marks import mark

_NO_LONGER_DECLARED = _("No longer declared")
_NOTES = {
    Origin.CODE.value: _(
        "Declared in code. What you change here is kept, and dyncron_sync reports it as a conflict "
        "if the code says otherwise. If you delete it, the next sync creates it again: pause it."
    ),
    Origin.IMPORT.value: _("Imported by dyncron_import."),
}
_VANISHED_NOTE = _(
    "It was declared in code and no longer is. It runs on until it is paused or deleted."
)


class OriginMixin(Base):
    """Adds a note to the form of what the code or an import has made."""

    def get_fieldsets(self, request: HttpRequest, obj: CronJob | None = None) -> Any:
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None or not _note(obj):
            return fieldsets
        return ((_("Origin"), {"fields": ("origin_note",)}), *fieldsets)

    def get_readonly_fields(self, request: HttpRequest, obj: CronJob | None = None) -> Any:
        return (*super().get_readonly_fields(request, obj), "origin_note")

    @admin.display(description=_("origin"))
    def origin_note(self, job: CronJob) -> str:
        return str(_note(job))


def origin_mark(job: CronJob) -> SafeString:
    """Return a mark for a job that is no longer declared in code, or nothing."""
    return mark(JobState.ENDED, _NO_LONGER_DECLARED) if job.has_vanished else SafeString("")


def _note(job: CronJob) -> Any:
    return _VANISHED_NOTE if job.has_vanished else _NOTES.get(job.origin, "")
