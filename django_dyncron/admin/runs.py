"""The history of runs: to read, never to write."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from ..models import CronRun
from .capped import CappedPaginator
from .database import ReadOnlyMixin, SchedulerDatabaseMixin
from .filters import JobFilter
from .links import may_see_runs
from .marks import NOTHING, error_html, mark, reason_words
from .moments import duration, exact
from .run_filters import EnqueuerFilter
from .task_links import link_tasks, task_html


class CronRunChangeList(ChangeList):
    """The list; finds the pages of its tasks for all rows at once."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        link_tasks(self.result_list)


class CronRunAdminMixin(ReadOnlyMixin, SchedulerDatabaseMixin):
    """Lists what became of each slot."""

    list_display = (
        "slot",
        "job_id",
        "result",
        "handed_over",
        "took",
        "handled_by",
    )
    list_display_links = ("slot",)
    list_filter = (JobFilter, "status", "kind", EnqueuerFilter, "created_at")
    # By the index on it: any other order would sort every run there is.
    sortable_by = ("slot",)
    search_fields = ("job_id",)
    search_help_text = _("Search by job id.")
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    paginator = CappedPaginator
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "job_id",
                    "kind",
                    "asked_by",
                    "slot",
                    "slot_count",
                    "outcome",
                    "error",
                )
            },
        ),
        (
            _("What was called"),
            {"fields": ("task_name", "arguments", "queue", "enqueuer", "options")},
        ),
        (
            _("How it went"),
            {
                "fields": (
                    "recorded",
                    "enqueued",
                    "started",
                    "finished",
                    "late_by",
                    "took",
                    "replica",
                    "attempts",
                    "delivery",
                    "task",
                    "id",
                )
            },
        ),
    )

    class Media:
        css = {"all": ("django_dyncron/admin.css",)}

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        return CronRunChangeList

    def get_object(self, request: HttpRequest, *args: Any, **options: Any) -> CronRun | None:
        run: CronRun | None = super().get_object(request, *args, **options)
        if run is not None:
            link_tasks([run])
        return run

    @admin.display(description=_("scheduled for"), ordering="created_at")
    def slot(self, run: CronRun) -> str:
        if not run.asked_by:
            return slot_of(run)
        return format_html("{} <small>{}</small>", slot_of(run), run.asked_by)

    @admin.display(description=_("outcome"))
    def result(self, run: CronRun) -> SafeString:
        return format_html("{} {}", outcome_of(run), error_html(run.error))

    @admin.display(description=_("outcome"))
    def outcome(self, run: CronRun) -> SafeString:
        return outcome_of(run)

    @admin.display(description=_("late by"))
    def late_by(self, run: CronRun) -> str:
        return late_by(run)

    @admin.display(description=_("took"))
    def took(self, run: CronRun) -> str:
        return took(run)

    @admin.display(description=_("task id"))
    def task(self, run: CronRun) -> SafeString:
        return task_html(run)

    @admin.display(description=_("enqueued"))
    def handed_over(self, run: CronRun) -> SafeString:
        """Show the time of day: the slot and how late it was tell the day."""
        if run.enqueued_at is None:
            return NOTHING
        late = "" if run.scheduled_for is None else _("%s late") % late_by(run)
        return format_html(
            '<span title="{}">{}</span> <small>{}</small>',
            exact(run.enqueued_at, seconds=True),
            f"{timezone.localtime(run.enqueued_at):%H:%M:%S}",
            late,
        )

    @admin.display(description=_("replica, task id"))
    def handled_by(self, run: CronRun) -> SafeString:
        return format_html("{} <small>{}</small>", run.replica, task_html(run, 12))

    @admin.display(description=_("payload"))
    def arguments(self, run: CronRun) -> str:
        return json.dumps(run.payload, indent=2, ensure_ascii=False)

    @admin.display(description=_("recorded"))
    def recorded(self, run: CronRun) -> str:
        return _to_the_second(run.created_at)

    @admin.display(description=_("enqueued"))
    def enqueued(self, run: CronRun) -> str:
        return _to_the_second(run.enqueued_at)

    @admin.display(description=_("started"))
    def started(self, run: CronRun) -> str:
        return _to_the_second(run.started_at)

    @admin.display(description=_("finished"))
    def finished(self, run: CronRun) -> str:
        return _to_the_second(run.finished_at)


@admin.register(CronRun)
class CronRunAdmin(CronRunAdminMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Runs in the plain admin."""


def slot_of(run: CronRun) -> str:
    """Return what a run was scheduled for, or when it was asked for."""
    if run.scheduled_for is None:
        return _("by hand, %s") % exact(run.created_at)
    if run.skipped_until is None:
        return exact(run.scheduled_for)
    return f"{exact(run.scheduled_for)} – {exact(run.skipped_until)}"


def late_by(run: CronRun) -> str:
    """Return how long after its slot a run was handed over or, failing that, started."""
    delivered_at = run.enqueued_at or run.started_at
    if run.scheduled_for is None or delivered_at is None:
        return NOTHING
    return duration(delivered_at - run.scheduled_for)


def took(run: CronRun) -> str:
    """Return how long a run took, as far as that is known."""
    if run.started_at is None or run.finished_at is None:
        return NOTHING
    return duration(run.finished_at - run.started_at)


def outcome_of(run: CronRun) -> SafeString:
    """Return the status of a run in words and, if it was skipped, why."""
    words = run.get_status_display()
    return mark(run.status, f"{words} ({reason_words(run.reason)})" if run.reason else words)


def _to_the_second(moment: datetime | None) -> str:
    return NOTHING if moment is None else exact(moment, seconds=True)


def runs_url(job_id: str, request: HttpRequest, site: admin.AdminSite) -> str | None:
    """Return the address of a job's runs; ``None`` for those who may not see them."""
    if not may_see_runs(request, site):
        return None
    try:
        listing = reverse("admin:django_dyncron_cronrun_changelist", current_app=site.name)
    except NoReverseMatch:
        return None
    return f"{listing}?{urlencode({JobFilter.parameter_name: job_id})}"
