"""The replicas: which schedulers there are and when each was last heard of."""

from __future__ import annotations

from datetime import timedelta

from django.contrib import admin
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from ..models import Replica
from ..outlook import JobState
from .database import ReadOnlyMixin, SchedulerDatabaseMixin
from .marks import mark
from .moments import moment_html

_GRACE = timedelta(seconds=60)
"""How much later than its tick a sign of life may come: as long as a run is left to its replica."""


class ReplicaAdminMixin(ReadOnlyMixin, SchedulerDatabaseMixin):
    """Lists schedulers and the signs of life they gave."""

    list_display = ("replica_id", "state", "last_seen", "started", "version", "tzdata_version")
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
        "version",
        "tzdata_version",
    )

    class Media:
        css = {"all": ("django_dyncron/admin.css",)}

    @admin.display(description=_("state"))
    def state(self, replica: Replica) -> SafeString:
        if replica.stopped_at is not None:
            return mark(JobState.ENDED, _("Stopped"))
        patience = timedelta(seconds=replica.tick_interval_seconds) + _GRACE
        if timezone.now() - replica.seen_at > patience:
            return mark(JobState.BROKEN, _("Silent"))
        return mark(JobState.ACTIVE, _("Running"))

    @admin.display(description=_("last seen"), ordering="seen_at")
    def last_seen(self, replica: Replica) -> SafeString:
        return moment_html(replica.seen_at, timezone.now())

    @admin.display(description=_("started"), ordering="started_at")
    def started(self, replica: Replica) -> SafeString:
        return moment_html(replica.started_at, timezone.now())


@admin.register(Replica)
class ReplicaAdmin(ReplicaAdminMixin, admin.ModelAdmin):  # type: ignore[type-arg]
    """Replicas in the plain admin."""
