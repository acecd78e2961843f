"""Filters of the admin's lists."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from ..models import CronJob, CronRun
from ..outlook import JobState, rows_in
from .marks import JOB_STATES


class StateFilter(admin.SimpleListFilter):
    """Cron jobs by state, as the last tick left them."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[Any, Any]]:
        return [(str(state), words) for state, words in JOB_STATES.items()]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[CronJob]
    ) -> QuerySet[CronJob] | None:
        if self.value() not in list(JobState):
            return queryset
        return queryset.filter(rows_in(JobState(str(self.value()))))


class JobFilter(admin.SimpleListFilter):
    """Runs of one job. Offers only the job that a link has asked for: there may be thousands."""

    title = _("cron job")
    parameter_name = "job"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[Any, Any]]:
        asked = request.GET.get(self.parameter_name)
        return [(asked, asked)] if asked else []

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[CronRun]
    ) -> QuerySet[CronRun] | None:
        return queryset.filter(job_id=self.value()) if self.value() else queryset
