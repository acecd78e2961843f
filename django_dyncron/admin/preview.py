"""The panels of the form, and the addresses where a script has them drawn again as one types.

Without a script they show what was saved, or what was sent by the button “Check”.
"""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from ..models import CronJob
from ..widgets import zone_names
from .database import Base
from .panel import schedule_panel
from .task_panel import task_panel

_MOST_CHARACTERS = 8_192
"""A form sends a few hundred; whoever sends more wants something else."""
_SCHEDULE, _TASK = "preview", "preview_task"


class _TaskForm(forms.Form):
    """What the panel of a task depends on, under the names that the form of a job has for it."""

    task_name = forms.CharField(required=False, max_length=255)
    queue = forms.CharField(required=False, max_length=255, empty_value="default")
    enqueuer = forms.CharField(required=False, max_length=100)


class _ScheduleForm(forms.Form):
    """The same for the panel of a schedule; how long an expression may be is said by its parser."""

    cron_expression = forms.CharField(required=False)
    time_zone = forms.CharField(required=False, max_length=64)
    job_id = forms.CharField(required=False, max_length=255)
    # A checkbox that is not there could not be told from one that is not ticked.
    is_active = forms.BooleanField(required=False, widget=forms.HiddenInput)
    starts_at = forms.SplitDateTimeField(required=False)
    ends_at = forms.SplitDateTimeField(required=False)
    dst_gap = forms.CharField(max_length=10)
    dst_fold = forms.CharField(max_length=10)
    overlap_policy = forms.CharField(max_length=20)
    max_run_seconds = forms.IntegerField(min_value=1)
    enqueuer = forms.CharField(required=False, max_length=100)


class PreviewMixin(Base):
    """Adds the panels to the form, and their addresses for those who may add or change a job."""

    def get_urls(self) -> list[URLPattern]:
        info = f"{self.opts.app_label}_{self.opts.model_name}"
        views = (
            ("preview/", self.preview_schedule, _SCHEDULE),
            ("preview/task/", self.preview_task, _TASK),
        )
        return [
            *(
                path(route, self.admin_site.admin_view(require_POST(view)), name=f"{info}_{name}")
                for route, view, name in views
            ),
            *super().get_urls(),
        ]

    @admin.display(description=_("in words"))
    def schedule(self, job: CronJob) -> str:
        return self._live(job, _SCHEDULE, _ScheduleForm, schedule_panel(job, timezone.now()))

    @admin.display(description=_("takes"))
    def arguments(self, job: CronJob) -> str:
        return self._live(job, _TASK, _TaskForm, task_panel(job))

    def preview_schedule(self, request: HttpRequest) -> HttpResponse:
        """Answer with the panel for the schedule that was posted."""
        if _is_too_long(request):
            return HttpResponse(status=413)
        job, problems = self._typed(request, _ScheduleForm)
        zone = request.POST.get("tz", "")
        browser_zone = ZoneInfo(zone) if zone in zone_names() else None
        return _fragment(schedule_panel(job, timezone.now(), browser_zone, problems))

    def preview_task(self, request: HttpRequest) -> HttpResponse:
        """Answer with the panel for the task that was posted.

        Posted, because to look at a task that ``ALLOWED_TASKS`` allows may import its module.
        """
        if _is_too_long(request):
            return HttpResponse(status=413)
        job, _problems = self._typed(request, _TaskForm)
        return _fragment(task_panel(job))

    def _typed(
        self, request: HttpRequest, form_class: type[forms.Form]
    ) -> tuple[CronJob, list[str]]:
        """Return the job as it would be with what was posted, and what of that made no sense.

        Raises :class:`PermissionDenied` and :class:`Http404`.
        """
        job = self._job_at_hand(request)
        form = form_class(request.POST)
        problems = [
            f"{_label(name)}: {error}"
            for name, errors in form.errors.items()
            for error in errors
            if _is_posted(form, name)
        ]
        for name, value in form.cleaned_data.items():
            if _is_posted(form, name):
                setattr(job, name, value)
        return job, problems

    def _job_at_hand(self, request: HttpRequest) -> CronJob:
        pk = request.POST.get("job", "")
        if not pk:
            if not self.has_add_permission(request):
                raise PermissionDenied
            return CronJob()
        # Past the list's own way, which would look for its runs as well.
        job: CronJob | None = super().get_object(request, pk)
        if not self.has_change_permission(request, job):
            raise PermissionDenied
        if job is None:
            raise Http404
        return job

    def _live(self, job: CronJob, name: str, form_class: type[forms.Form], content: str) -> str:
        address = f"admin:{self.opts.app_label}_{self.opts.model_name}_{name}"
        context = {
            "url": reverse(address, current_app=self.admin_site.name),
            "fields": _input_names(form_class),
            "job": job,
            "content": content,
        }
        return render_to_string("django_dyncron/live_panel.html", context)


def _is_too_long(request: HttpRequest) -> bool:
    values = (value for _name, values in request.POST.lists() for value in values)
    return sum(map(len, values)) > _MOST_CHARACTERS


def _label(name: str) -> str:
    field: Any = CronJob._meta.get_field(name)
    return str(capfirst(field.verbose_name))


def _is_posted(form: forms.Form, name: str) -> bool:
    widget: Any = form.fields[name].widget
    return not widget.value_omitted_from_data(form.data, form.files, name)


def _input_names(form_class: type[forms.Form]) -> list[str]:
    """Return the names under which a browser sends the fields of a form, the leading one first."""
    return [
        f"{name}{suffix}"
        for name, field in form_class.base_fields.items()
        for suffix in getattr(field.widget, "widgets_names", [""])
    ]


def _fragment(html: str) -> HttpResponse:
    # The site of an admin has what it shows never stored, but others may wrap it.
    return HttpResponse(html, headers={"Cache-Control": "no-store"})
