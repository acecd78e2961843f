"""The replicas: which schedulers there are and when each was last heard of."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from .. import __version__
from ..core.tzdata import tzdata_version
from ..health import ReplicaState
from ..health.reading import judge_replica, with_database_time
from ..models import Replica
from ..outlook import JobState
from .database import ReadOnlyMixin, SchedulerDatabaseMixin
from .marks import NOTHING, mark
from .moments import moment_html


class ReplicaAdminMixin(ReadOnlyMixin, SchedulerDatabaseMixin):
    """Lists schedulers and the signs of life they gave."""

    list_display = ("replica_id", "state", "last_seen", "started", "runs_version", "tzdata")
    search_fields = ("replica_id",)
    ordering = ("-seen_at",)
    show_full_result_count = False
    fields = (
        "replica_id",
        "state",
        "last_seen",
        "started",
        "stopped_at",
        "tick_interval_seconds",
        "runs_version",
        "tzdata",
    )

    class Media:
        css = {"all": ("django_dyncron/admin.css",)}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return with_database_time(super().get_queryset(request))

    @admin.display(description=_("state"))
    def state(self, replica: Replica) -> SafeString:
        return state_of(replica)

    @admin.display(description=_("last seen"), ordering="seen_at")
    def last_seen(self, replica: Replica) -> SafeString:
        return moment_html(replica.seen_at, timezone.now())

    @admin.display(description=_("started"), ordering="started_at")
    def started(self, replica: Replica) -> SafeString:
        return moment_html(replica.started_at, timezone.now())

    @admin.display(description=_("version"))
    def runs_version(self, replica: Replica) -> str:
        return compared_version(replica)

    @admin.display(description=_("time zone data"))
    def tzdata(self, replica: Replica) -> str:
        return compared_tzdata(replica)


@admin.register(Replica)
class ReplicaAdmin(ReplicaAdminMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Replicas in the plain admin."""


_STATES = {
    ReplicaState.RUNNING: (JobState.ACTIVE, _("Running")),
    ReplicaState.SILENT: (JobState.BROKEN, _("Silent")),
    ReplicaState.STOPPED: (JobState.ENDED, _("Stopped")),
}


def state_of(replica: Any) -> SafeString:
    """Return whether a replica, read :func:`with_database_time`, runs, stopped or fell silent."""
    return mark(*_STATES[judge_replica(replica, replica.database_now).state])


def compared_version(replica: Replica) -> str:
    """Return the release a replica runs, marked if this process runs another."""
    return _compared(replica, replica.version, __version__)


def compared_tzdata(replica: Replica) -> str:
    """Return the time zone data a replica has, marked if this process has another.

    Then the next runs that are shown may differ from those that happen.
    """
    return _compared(replica, replica.tzdata_version, tzdata_version())


def _compared(replica: Replica, theirs: str, ours: str) -> str:
    if not theirs:
        return NOTHING
    if theirs == ours or replica.stopped_at is not None:
        return theirs
    differs = _("here %(version)s") % {"version": ours or _("unknown")}
    return format_html("{} <small>{}</small>", theirs, mark(JobState.BROKEN, differs))
