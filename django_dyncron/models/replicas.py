"""The replicas: scheduler processes and their signs of life."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

GRACE = timedelta(seconds=60)
"""How much later than its tick a sign of life may come: as long as a run is left to its replica."""


class Replica(models.Model):
    """A scheduler process: who it is and when it last gave a sign of life."""

    replica_id = models.CharField(_("replica"), max_length=255, primary_key=True)
    started_at = models.DateTimeField(_("started"), db_default=Now())
    seen_at = models.DateTimeField(_("last seen"), db_default=Now())
    stopped_at = models.DateTimeField(_("stopped"), null=True, blank=True)
    tick_interval_seconds = models.FloatField(_("tick interval (seconds)"))
    version = models.CharField(_("version"), max_length=50, default="", db_default="")
    tzdata_version = models.CharField(_("time zone data"), max_length=50, default="", db_default="")

    class Meta:
        verbose_name = _("replica")
        verbose_name_plural = _("replicas")
        ordering = ("replica_id",)

    def __str__(self) -> str:
        return self.replica_id

    def is_heard_at(self, now: datetime, max_age: timedelta | None = None) -> bool:
        """Tell whether the last sign of life is recent enough at ``now``, the database's time.

        ``max_age`` is by default the tick interval and a minute. One as far in the future is as
        bad: it was given before somebody set the clock back.
        """
        if max_age is None:
            max_age = timedelta(seconds=self.tick_interval_seconds) + GRACE
        return abs(now - self.seen_at) <= max_age
