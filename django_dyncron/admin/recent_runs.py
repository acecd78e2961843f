"""The newest runs of a cron job, beneath its form."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from ..models import CronJob, CronRun
from .database import Base
from .runs import late_by, outcome_of, runs_url, slot_of, took
from .task_links import link_tasks, task_html

_SHOWN = 20


class RecentRunsMixin(Base):
    """Adds a table of runs to the form, for those who may see runs."""

    def get_fieldsets(self, request: HttpRequest, obj: CronJob | None = None) -> Any:
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None or runs_url(obj.job_id, request, self.admin_site) is None:
            return fieldsets
        return (*fieldsets, (_("Runs"), {"fields": ("recent_runs",)}))

    def get_readonly_fields(self, request: HttpRequest, obj: CronJob | None = None) -> Any:
        return (*super().get_readonly_fields(request, obj), "recent_runs")

    @admin.display(description=_("newest runs"))
    def recent_runs(self, job: CronJob) -> str:
        """Show the newest runs; one query along the index on job and time."""
        of_job = CronRun.objects.using(job._state.db).filter(job_id=job.job_id)
        runs = list(of_job.order_by("-created_at", "-scheduled_for")[:_SHOWN])
        link_tasks(runs)
        rows = [
            {
                "url": self._run_url(run),
                "slot": slot_of(run),
                "outcome": outcome_of(run),
                "late_by": late_by(run),
                "took": took(run),
                "task": task_html(run),
                "run": run,
            }
            for run in runs
        ]
        return render_to_string("django_dyncron/recent_runs.html", {"rows": rows})

    def _run_url(self, run: CronRun) -> str:
        address = "admin:django_dyncron_cronrun_change"
        return reverse(address, args=[run.pk], current_app=self.admin_site.name)
