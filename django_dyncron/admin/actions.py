"""What one may do to cron jobs beside editing them: run, pause, resume and duplicate.

Each takes a permission of its own, works on the list and on the form, and is logged.
"""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from .. import pausing
from ..conf import read_settings
from ..manual import request_run
from ..models import CronJob, CronRun
from .duplicating import DuplicateMixin
from .form_actions import FormActionsMixin, job_action
from .journal import log, username
from .links import run_url
from .permissions import JobPermissionsMixin
from .reasons import ask_reason, given_reason

_MOST_RUNS = 100
"""So many are asked for at once: a page of the list, but not by a slip all there are."""
_MOST_NAMED = 10


class JobActionsMixin(DuplicateMixin, FormActionsMixin, JobPermissionsMixin):
    """Adds the actions, which ask for ``run_cronjob``, ``pause_cronjob`` and ``add_cronjob``."""

    @job_action("run", gettext_lazy("Run selected cron jobs now"), gettext_lazy("Run now"))
    def run_jobs(self, request: HttpRequest, queryset: QuerySet[CronJob]) -> None:
        jobs = list(queryset[: _MOST_RUNS + 1])
        if len(jobs) > _MOST_RUNS:
            words = _("At most %d cron jobs can be run at once. None was.") % _MOST_RUNS
            self.message_user(request, words, messages.ERROR)
            return
        runs = [run for job in jobs if (run := self._asked_for(request, job)) is not None]
        asked_for = {run.job_id for run in runs}
        log(request, [job for job in jobs if job.job_id in asked_for], "Asked to run now.")
        if runs:
            self.message_user(request, self._told(request, runs), messages.SUCCESS)

    def _asked_for(self, request: HttpRequest, job: CronJob) -> CronRun | None:
        """Record the run, or tell why it cannot be."""
        try:
            return request_run(job, by=username(request))
        except CronJob.DoesNotExist:
            words = _("“%s” was deleted meanwhile.") % job
        except ValidationError as fault:
            words = _("“%(job)s” cannot be run: %(why)s") % {
                "job": job,
                "why": " ".join(fault.messages),
            }
        self.message_user(request, words, messages.ERROR)
        return None

    def _told(self, request: HttpRequest, runs: list[CronRun]) -> SafeString:
        """Say when the runs begin, with links for those who may see them."""
        words = ngettext(
            "%(count)d run was asked for. A scheduler starts it within %(seconds)d seconds:",
            "%(count)d runs were asked for. A scheduler starts them within %(seconds)d seconds:",
            len(runs),
        ) % {"count": len(runs), "seconds": _seconds_to_wait()}
        shown = format_html_join(
            ", ", "{}", ([self._link(request, run)] for run in runs[:_MOST_NAMED])
        )
        return format_html("{} {}{}", words, shown, " …" if len(runs) > _MOST_NAMED else ".")

    def _link(self, request: HttpRequest, run: CronRun) -> SafeString:
        address = run_url(run, request, self.admin_site)
        if address is None:
            return format_html("{}", run.job_id)
        return format_html('<a href="{}">{}</a>', address, run.job_id)

    @job_action("pause", gettext_lazy("Pause selected cron jobs"), gettext_lazy("Pause"))
    def pause_jobs(self, request: HttpRequest, queryset: QuerySet[CronJob]) -> HttpResponse | None:
        reason = given_reason(request)
        if reason is None:
            active = queryset.filter(is_active=True)
            names = list(active.values_list("job_id", flat=True)[: _MOST_NAMED + 1])
            if names:
                return ask_reason(self, request, _("Pause cron jobs"), names, _MOST_NAMED)
        note = f"Paused: {reason}" if reason else "Paused."
        count = log(request, pausing.pause(queryset, reason or ""), note)
        words = ngettext("Paused %d cron job.", "Paused %d cron jobs.", count) % count
        self.message_user(request, words, messages.SUCCESS if count else messages.WARNING)
        return None

    @job_action("pause", gettext_lazy("Resume selected cron jobs"), gettext_lazy("Resume"))
    def resume_jobs(self, request: HttpRequest, queryset: QuerySet[CronJob]) -> None:
        count = log(request, pausing.resume(queryset), "Resumed.")
        words = ngettext(
            "Resumed %d cron job; slots that passed meanwhile are not made up.",
            "Resumed %d cron jobs; slots that passed meanwhile are not made up.",
            count,
        )
        self.message_user(request, words % count, messages.SUCCESS if count else messages.WARNING)


def _seconds_to_wait() -> int:
    """Return after how long a run that was asked for begins, if a scheduler is there."""
    return round(read_settings()[0].tick_interval_seconds) + 10
