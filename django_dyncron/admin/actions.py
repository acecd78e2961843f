"""Pausing and resuming from the list, for those who may, with their name in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from ..models import CronJob
from .database import Base

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractUser


class PauseActionsMixin(Base):
    """Adds the actions, and asks for the permission ``pause_cronjob``."""

    actions = ("pause_jobs", "resume_jobs")

    def has_pause_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(f"{self.opts.app_label}.pause_cronjob")

    @admin.action(permissions=["pause"], description=_("Pause selected cron jobs"))
    def pause_jobs(self, request: HttpRequest, queryset: QuerySet[CronJob]) -> None:
        count = _switch(request, queryset, is_active=False, note="Paused.")
        self.message_user(
            request,
            ngettext("Paused %d cron job.", "Paused %d cron jobs.", count) % count,
            messages.SUCCESS,
        )

    @admin.action(permissions=["pause"], description=_("Resume selected cron jobs"))
    def resume_jobs(self, request: HttpRequest, queryset: QuerySet[CronJob]) -> None:
        count = _switch(request, queryset, is_active=True, note="Resumed.")
        self.message_user(
            request,
            ngettext(
                "Resumed %d cron job; slots that passed meanwhile are not made up.",
                "Resumed %d cron jobs; slots that passed meanwhile are not made up.",
                count,
            )
            % count,
            messages.SUCCESS,
        )


def _switch(
    request: HttpRequest, queryset: QuerySet[CronJob], *, is_active: bool, note: str
) -> int:
    """Pause or resume what is not so yet; return how many jobs that were.

    By ``update()``, which starts a resumed schedule from this moment.
    """
    to_change = queryset.filter(is_active=not is_active)
    jobs: list[CronJob] = list(to_change)
    count = to_change.update(is_active=is_active)
    user: AbstractUser = request.user  # type: ignore[assignment]
    LogEntry.objects.log_actions(user.pk, jobs, CHANGE, note)
    return count
