"""The run: what became of one slot, or of one run somebody asked for."""

from __future__ import annotations

from django.db import models
from django.db.models import Value
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from ..core.policies import UNFINISHED, Delivery, RunKind, RunStatus


class CronRun(models.Model):
    """What became of one slot, or of one run somebody asked for.

    ``job_id`` is text, not a foreign key: history outlives the job. What to call is kept as it
    stood at the claim. A manual run has no ``scheduled_for``; ``asked_by`` names who asked for it.
    A long stretch of skipped slots is one row: ``scheduled_for`` is its first slot,
    ``skipped_until`` its last.
    """

    id = models.UUIDField(primary_key=True)
    job_id = models.CharField(_("job id"), max_length=255)
    scheduled_for = models.DateTimeField(_("scheduled for"), null=True, blank=True)
    kind = models.CharField(
        _("kind"),
        max_length=20,
        default=RunKind.SCHEDULED.value,
        db_default=RunKind.SCHEDULED.value,
        choices=[(RunKind.SCHEDULED.value, _("scheduled")), (RunKind.MANUAL.value, _("manual"))],
    )
    status = models.CharField(
        _("status"),
        max_length=20,
        choices=[
            (RunStatus.CLAIMED.value, _("claimed")),
            (RunStatus.ENQUEUED.value, _("enqueued")),
            (RunStatus.RUNNING.value, _("running")),
            (RunStatus.SUCCEEDED.value, _("succeeded")),
            (RunStatus.FAILED.value, _("failed")),
            (RunStatus.SKIPPED.value, _("skipped")),
            (RunStatus.UNKNOWN.value, _("unknown")),
            (RunStatus.LOST.value, _("lost")),
        ],
    )
    asked_by = models.TextField(_("asked for by"), blank=True, default="", db_default="")
    reason = models.CharField(_("reason"), max_length=20, blank=True, default="", db_default="")
    task_name = models.CharField(_("task"), max_length=255)
    payload = models.JSONField(
        _("payload"), default=dict, db_default=Value({}, models.JSONField()), blank=True
    )
    queue = models.CharField(_("queue"), max_length=255, default="default", db_default="default")
    enqueuer = models.CharField(
        _("queue system"), max_length=100, blank=True, default="", db_default=""
    )
    options = models.JSONField(
        _("options"), default=dict, db_default=Value({}, models.JSONField()), blank=True
    )
    delivery = models.CharField(
        _("delivery"),
        max_length=20,
        default=Delivery.AT_LEAST_ONCE.value,
        db_default=Delivery.AT_LEAST_ONCE.value,
    )
    created_at = models.DateTimeField(_("recorded"), db_default=Now())
    enqueued_at = models.DateTimeField(_("enqueued"), null=True, blank=True)
    started_at = models.DateTimeField(_("started"), null=True, blank=True)
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)
    skipped_until = models.DateTimeField(_("skipped until"), null=True, blank=True)
    slot_count = models.PositiveIntegerField(_("slots"), default=1, db_default=1)
    replica = models.CharField(_("replica"), max_length=255, blank=True, default="", db_default="")
    attempts = models.PositiveIntegerField(_("attempts"), default=0, db_default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    task_id = models.CharField(_("task id"), max_length=255, blank=True, default="", db_default="")
    error = models.TextField(_("error"), blank=True, default="", db_default="")

    class Meta:
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        ordering = ("-created_at", "-id")
        constraints = [
            models.UniqueConstraint(
                # Every slot once. A stretch of skipped slots begins with a slot, too, and may
                # have been run before; it differs by its count.
                fields=["job_id", "scheduled_for", "slot_count"],
                name="django_dyncron_cronrun_slot",
            )
        ]
        indexes = [
            models.Index(fields=["lease_until"], name="django_dyncron_cronrun_lease"),
            models.Index(fields=["created_at"], name="django_dyncron_cronrun_created"),
            models.Index(fields=["job_id", "created_at"], name="django_dyncron_cronrun_history"),
        ]

    def __str__(self) -> str:
        moment = self.scheduled_for or self.created_at
        return f"{self.job_id} {moment:%Y-%m-%d %H:%M}Z"

    @property
    def is_finished(self) -> bool:
        return self.status not in UNFINISHED
