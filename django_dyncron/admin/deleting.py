"""A word of warning before a cron job is deleted."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ..models import CronRun
from .database import Base


class DeleteWarningMixin(Base):
    """Says, on the page that asks whether one is sure, what becomes of the runs."""

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        if "post" not in request.POST:
            self.message_user(request, self._warning(objs, request), messages.WARNING)
        return super().get_deleted_objects(objs, request)

    def _warning(self, jobs: Any, request: HttpRequest) -> str:
        words = _("The history of runs stays. To stop a cron job for a while, pause it instead.")
        chosen = [job.job_id for job in jobs] if isinstance(jobs, list) else jobs.values("job_id")
        # Those that a scheduler, or a worker that tells of it, has in hand; by the index on these.
        in_hand = CronRun.objects.using(self.get_queryset(request).db).filter(
            lease_until__isnull=False, job_id__in=chosen
        )
        if count := in_hand.count():
            unfinished = ngettext(
                "%d run is not finished: if it has begun it goes on, if not it is dropped.",
                "%d runs are not finished: what has begun goes on, the rest is dropped.",
                count,
            )
            words = f"{words} {unfinished % count}"
        return words
