"""The pauses of everything: from when to when, why, and who pressed the button."""

from __future__ import annotations

from datetime import UTC, datetime

from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

_READABLE = (datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC))


class Pause(models.Model):
    """An interval in which no slot is run: from ``since`` on, up to but without ``until``.

    It lasts while ``until`` is empty. Only one can last at a time.
    """

    since = models.DateTimeField(_("since"), db_default=Now())
    until = models.DateTimeField(_("until"), null=True, blank=True)
    reason = models.TextField(_("reason"), blank=True, default="", db_default="")
    paused_by = models.TextField(_("paused by"), blank=True, default="", db_default="")
    resumed_by = models.TextField(_("resumed by"), blank=True, default="", db_default="")
    # True or NULL, and NULLs are never the same: every database keeps such a column unique.
    lasts = models.GeneratedField(
        expression=Case(When(until__isnull=True, then=Value(True)), default=Value(None)),
        output_field=models.BooleanField(null=True),
        db_persist=True,
        editable=False,
        serialize=False,
    )

    class Meta:
        verbose_name = _("pause of everything")
        verbose_name_plural = _("pauses of everything")
        ordering = ("-since", "-id")
        # Written by pausing and resuming only, for which there is a permission of its own.
        default_permissions = ("view",)
        constraints = [
            models.UniqueConstraint(fields=["lasts"], name="django_dyncron_pause_lasts"),
            models.CheckConstraint(
                condition=Q(since__range=_READABLE)
                & (Q(until__isnull=True) | Q(until__gte=F("since"), until__lt=_READABLE[1])),
                name="django_dyncron_pause_order",
            ),
        ]
        indexes = [models.Index(fields=["until"], name="django_dyncron_pause_until")]

    def __str__(self) -> str:
        until = "" if self.until is None else f"{self.until:%Y-%m-%d %H:%M:%SZ}"
        return f"{self.since:%Y-%m-%d %H:%M:%SZ} – {until}".strip()
