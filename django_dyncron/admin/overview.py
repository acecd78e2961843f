"""The overview: what is planned, what is wrong, what is paused, and who runs it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib.admin.utils import quote
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from .. import __version__
from ..conf import database_alias, read_settings
from ..health.reading import with_database_time
from ..load import PlannedLoad, planned_load
from ..models import CronJob, Replica
from ..outlook import JobState, overdue, planning_rules, rows_in
from .banners import BannersMixin
from .crumbs import HAS_CRUMBS_IN_LIST
from .load_charts import hours_chart, hours_table, week_chart, week_table
from .marks import JOB_STATES, error_html, mark
from .moments import moment_html
from .replicas import compared_tzdata, compared_version, state_of

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as StrPromise

_logger = logging.getLogger("django_dyncron")

_KEPT_SECONDS = 60
_LISTED = 20


@dataclass(frozen=True, slots=True)
class Counts:
    """What takes long enough to count that it is kept for a minute."""

    load: PlannedLoad
    states: dict[str, int]


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job in a list of the overview: its form, and what there is to say about it."""

    name: str
    url: str
    says: str


@dataclass(frozen=True, slots=True)
class JobList:
    """The first jobs of a kind; ``goes_on`` if there are more, all of them at ``url``."""

    title: StrPromise
    empty: StrPromise
    rows: list[JobRow]
    goes_on: bool
    url: str


class OverviewMixin(BannersMixin):
    """Adds the overview, for those who may see cron jobs."""

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}_overview"
        view = self.admin_site.admin_view(require_safe(self.overview))
        return [path("overview/", view, name=name), *super().get_urls()]

    def overview(self, request: HttpRequest) -> HttpResponse:
        """Show the overview; with ``?refresh`` what was counted is counted again."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        request.current_app = self.admin_site.name
        alias = database_alias(read_settings()[0])
        if "refresh" in request.GET:
            _count_anew(alias)
            # So that whoever loads the page again does not count again.
            return HttpResponseRedirect(request.path)
        counts = _kept(alias) or _count_anew(alias)
        context = {
            **self.admin_site.each_context(request),
            "title": _("Overview"),
            "opts": self.opts,
            "has_crumbs_in_list": HAS_CRUMBS_IN_LIST,
            "jobs_url": self._address("changelist"),
            **_of_load(counts.load),
            **self._of_jobs(request, counts),
            **self.banner_context(request),
        }
        if request.user.has_perm("django_dyncron.view_replica"):
            context |= _of_replicas(alias)
        return TemplateResponse(request, "admin/django_dyncron/cronjob/overview.html", context)

    def _of_jobs(self, request: HttpRequest, counts: Counts) -> dict[str, Any]:
        now = timezone.now()
        # What a list restricted to some jobs does not show is not to be read here.
        jobs = self.get_queryset(request)
        listing = self._address("changelist")
        return {
            "states": [
                (mark(state, words), counts.states[state], f"{listing}?state={state}")
                for state, words in JOB_STATES.items()
            ],
            "job_lists": [
                self._listed(
                    _("Overdue"),
                    _("No slot waits for a scheduler."),
                    jobs.filter(overdue(now, planning_rules())).order_by("due_at"),
                    lambda job: moment_html(job.due_at, now),
                    f"{listing}?state=overdue",
                ),
                self._listed(
                    _("Broken"),
                    _("Every schedule can be planned."),
                    jobs.filter(rows_in(JobState.BROKEN)).order_by("job_id"),
                    lambda job: error_html(job.last_error),
                    f"{listing}?state={JobState.BROKEN}",
                ),
                self._listed(
                    _("Paused"),
                    _("No cron job is paused."),
                    jobs.filter(rows_in(JobState.PAUSED)).order_by("job_id"),
                    lambda job: job.pause_reason,
                    f"{listing}?state={JobState.PAUSED}",
                ),
            ],
        }

    def _listed(
        self,
        title: StrPromise,
        empty: StrPromise,
        jobs: QuerySet[CronJob],
        says: Callable[[CronJob], str],
        url: str,
    ) -> JobList:
        found = list(jobs[: _LISTED + 1])
        rows = [
            JobRow(job.job_id, self._address("change", quote(job.pk)), says(job))
            for job in found[:_LISTED]
        ]
        return JobList(title, empty, rows, len(found) > _LISTED, url)

    def _address(self, page: str, *args: str) -> str:
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_{page}"
        return reverse(name, args=args, current_app=self.admin_site.name)


def _key(alias: str) -> str:
    """Return where counts are kept: hours are those of a zone, values those of a release."""
    return f"dyncron:overview:{__version__}:{alias}:{timezone.get_current_timezone_name()}"


def _kept(alias: str) -> Counts | None:
    try:
        counts: Counts | None = cache.get(_key(alias))
    except Exception:
        # A cache that is away, or that gives back what it cannot read, takes time, not the page.
        _logger.exception("The cache of the overview cannot be read")
        return None
    return counts


def _keep(alias: str, counts: Counts) -> None:
    try:
        cache.set(_key(alias), counts, _KEPT_SECONDS)
    except Exception:
        _logger.exception("The cache of the overview cannot be written")


def _count_anew(alias: str) -> Counts:
    """Count, and keep it for the next who asks."""
    conditions: dict[str, Any] = {
        str(state): Count("pk", filter=rows_in(state)) for state in JobState
    }
    states = CronJob.objects.using(alias).aggregate(**conditions)
    counts = Counts(planned_load(using=alias), states)
    _keep(alias, counts)
    return counts


def _of_load(load: PlannedLoad) -> dict[str, Any]:
    now = timezone.now()
    return {
        "load": load,
        "counted_at": moment_html(load.counted_at, now),
        "zone": timezone.get_current_timezone_name(),
        "charts": [
            (_("The next 24 hours"), hours_chart(load), hours_table(load)),
            (_("Seven days"), week_chart(load), week_table(load)),
        ],
        "busiest": [(moment_html(minute.starts_at, now), minute.runs) for minute in load.busiest],
    }


def _of_replicas(alias: str) -> dict[str, Any]:
    now = timezone.now()
    replicas = with_database_time(Replica.objects.using(alias))
    return {
        "shows_replicas": True,
        "replicas": [
            {
                "name": replica.replica_id,
                "state": state_of(replica),
                "seen": moment_html(replica.seen_at, now),
                "version": compared_version(replica),
                "tzdata": compared_tzdata(replica),
            }
            for replica in replicas.order_by("-seen_at")[:_LISTED]
        ],
    }
