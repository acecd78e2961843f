"""Cron jobs in the admin: the list, the form and who may do what."""

from __future__ import annotations

import re
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _

from ..forms import CronJobForm
from ..job_checks import job_notices
from ..models import CronJob
from ..outlook import JobState
from .actions import JobActionsMixin
from .bars import bars
from .database import SchedulerDatabaseMixin
from .deleting import DeleteWarningMixin
from .filters import OriginFilter, QueueFilter, StateFilter, TaskFilter, TimeZoneFilter
from .latest import look_at, view_of
from .links import may_see_runs
from .marks import JOB_STATES, NOTHING, OVERDUE, error_html, mark
from .moments import moment_html
from .origins import OriginMixin, origin_mark
from .overview import OverviewMixin
from .pausing import PauseEverythingMixin
from .preview import PreviewMixin
from .recent_runs import RecentRunsMixin
from .runs import outcome_of, runs_url


class CronJobChangeList(ChangeList):
    """The list; reads what its columns need for all rows of the page at once."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        site = self.model_admin.admin_site
        look_at(self.result_list, shows_runs=may_see_runs(request, site))


class CronJobAdminMixin(
    JobActionsMixin,
    PauseEverythingMixin,
    DeleteWarningMixin,
    PreviewMixin,
    OverviewMixin,
    OriginMixin,
    RecentRunsMixin,
    SchedulerDatabaseMixin,
):
    """Lists and edits cron jobs."""

    form = CronJobForm
    actions = ("run_jobs", "pause_jobs", "resume_jobs", "duplicate_job")
    list_display = ("job", "state", "when", "next_run", "last_runs")
    list_filter = (StateFilter, QueueFilter, TaskFilter, TimeZoneFilter, OriginFilter)
    search_fields = ("job_id", "task_name", "description")
    search_help_text = _("Search by job id, task or description.")
    show_full_result_count = False
    fieldsets = (
        (None, {"fields": ("job_id", "description", "is_active")}),
        (_("What"), {"fields": ("task_name", "arguments", "payload", "queue")}),
        (
            _("When"),
            {"fields": ("cron_expression", "time_zone", "schedule", "starts_at", "ends_at")},
        ),
        (
            _("Missed, overlapping and spread runs"),
            {
                "classes": ("collapse",),
                "fields": (
                    "misfire_policy",
                    "max_catch_up",
                    "catch_up_window_seconds",
                    "overlap_policy",
                    "max_run_seconds",
                    "jitter_seconds",
                ),
            },
        ),
        (
            _("Clock changes"),
            {"classes": ("collapse",), "fields": ("dst_gap", "dst_fold")},
        ),
        (
            _("Delivery"),
            {"classes": ("collapse",), "fields": ("delivery", "enqueuer", "options", "ping_url")},
        ),
    )
    _now = (_("Now"), {"fields": (("state", "next_run", "last_run"),)})

    class Media:
        css = {"all": ("django_dyncron/admin.css",)}

    # --- the list ---

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        return CronJobChangeList

    @admin.display(description=_("cron job"), ordering="job_id")
    def job(self, job: CronJob) -> SafeString:
        queue = "" if job.queue == "default" else f" → {job.queue}"
        return format_html("{} <small>{}{}</small>", job.job_id, _breakable(job.task_name), queue)

    @admin.display(description=_("state"))
    def state(self, job: CronJob) -> SafeString:
        view = view_of(job)
        ahead = view.outlook
        return format_html(
            "{} {}{}{}{}",
            mark(ahead.state, JOB_STATES[ahead.state]),
            mark(JobState.BROKEN, OVERDUE) if view.is_overdue else "",
            origin_mark(job),
            format_html("<small>{}</small>", ahead.pause_reason) if ahead.pause_reason else "",
            error_html(ahead.error, is_cut=not view.is_alone),
        )

    @admin.display(description=_("when"), ordering="cron_expression")
    def when(self, job: CronJob) -> SafeString:
        return format_html(
            "{} <small>{} {}</small>", view_of(job).words, job.cron_expression, job.time_zone
        )

    @admin.display(description=_("next run"), ordering="due_at")
    def next_run(self, job: CronJob) -> str:
        view = view_of(job)
        moment = view.outlook.next_run_at
        return NOTHING if moment is None else moment_html(moment, view.now)

    @admin.display(description=_("last run"), ordering="last_run_at")
    def last_run(self, job: CronJob) -> str:
        view = view_of(job)
        run = view.latest_run
        if run is not None:
            moment = moment_html(run.scheduled_for or run.created_at, view.now)
            return format_html("{} {}", outcome_of(run), moment)
        return moment_html(job.last_run_at, view.now) if job.last_run_at else NOTHING

    @admin.display(description=_("last runs"), ordering="last_run_at")
    def last_runs(self, job: CronJob) -> SafeString:
        view = view_of(job)
        return format_html("{}{}", self.last_run(job), bars(view.runs) if view.runs else "")

    # --- the form ---

    def get_fieldsets(self, request: HttpRequest, obj: CronJob | None = None) -> Any:
        fieldsets = super().get_fieldsets(request, obj)
        return fieldsets if obj is None else (self._now, *fieldsets)

    def get_readonly_fields(self, request: HttpRequest, obj: CronJob | None = None) -> Any:
        fields = [*super().get_readonly_fields(request, obj), "schedule", "arguments"]
        if obj is not None:
            fields += ["job_id", "state", "next_run", "last_run"]
        if not self.has_pause_permission(request):
            fields.append("is_active")
        return fields

    def save_model(self, request: HttpRequest, obj: CronJob, *args: Any) -> None:
        if obj.is_active:
            obj.pause_reason = ""
        super().save_model(request, obj, *args)
        for notice in job_notices(obj.definition(), obj.ping_url):
            self.message_user(request, notice, messages.WARNING)

    def get_object(self, request: HttpRequest, *args: Any, **options: Any) -> CronJob | None:
        job: CronJob | None = super().get_object(request, *args, **options)
        if job is not None:
            # Before a form puts unsaved values into it.
            shows_runs = may_see_runs(request, self.admin_site)
            look_at([job], shows_runs=shows_runs, is_alone=True)
        return job

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, *args: Any, **options: Any
    ) -> HttpResponse:
        try:
            return super().changeform_view(request, object_id, *args, **options)
        except DatabaseError:
            # An update that found no row: the job went away while its form was being saved.
            if object_id is None or self.get_object(request, unquote(object_id)) is not None:
                raise
        self.message_user(request, _("The cron job was deleted meanwhile."), messages.WARNING)
        listing = "admin:django_dyncron_cronjob_changelist"
        return HttpResponseRedirect(reverse(listing, current_app=self.admin_site.name))

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any
    ) -> HttpResponse:
        form = context["adminform"].form
        if form.is_bound and form.is_only_checked and not form.errors:
            self.message_user(request, _("No mistakes found. Nothing is saved yet."), messages.INFO)
        job = context.get("original")
        if job is not None:
            context["dyncron_runs_url"] = runs_url(job.job_id, request, self.admin_site)
        return super().render_change_form(request, context, *args, **options)


def _breakable(dotted_name: str) -> SafeString:
    """Let a long name go on in the next line after a dot or an underscore."""
    parts = re.split(r"(?<=[._])", dotted_name)
    return format_html_join(mark_safe("<wbr>"), "{}", ([part] for part in parts))


@admin.register(CronJob)
class CronJobAdmin(CronJobAdminMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Cron jobs in the plain admin."""
