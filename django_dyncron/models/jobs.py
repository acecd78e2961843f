"""The cron job: what to run, when, and how far its schedule has come."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Value
from django.db.models.functions import Now
from django.db.models.signals import post_save, pre_save
from django.utils.translation import gettext_lazy as _

from ..core.definitions import CronJobDefinition
from ..core.policies import Delivery, MisfirePolicy, OverlapPolicy
from ..validators import validate_cron_expression, validate_payload, validate_time_zone
from .due import DUE_AT
from .managers import CronJobManager
from .origins import HasOrigin
from .saving import KeepsCursor, keep_on_raw_save, read_again_after_raw_save


class CronJob(KeepsCursor, HasOrigin):
    """A row of the crontab: what to run, when, and how far its schedule has come.

    The columns below ``# owned by the scheduler`` are written by compare-and-swap on each tick; a
    form or a ``save()`` that did not name them leaves them as they are.
    """

    # ``plan_from`` stands before the inputs it is computed from: MySQL assigns left to right.
    plan_from = models.DateTimeField(
        null=True, blank=True, editable=False, serialize=False, db_default=Now()
    )

    job_id = models.CharField(
        _("job id"), max_length=255, help_text=_("A unique name. It cannot be changed later.")
    )
    task_name = models.CharField(
        _("task"), max_length=255, help_text=_("Dotted path or registered name of the task.")
    )
    cron_expression = models.CharField(
        _("cron expression"),
        max_length=255,
        validators=[validate_cron_expression],
        help_text=_("Minute, hour, day of month, month, day of week; or @daily and the like."),
    )
    time_zone = models.CharField(
        _("time zone"),
        max_length=64,
        blank=True,
        default="",
        db_default="",
        validators=[validate_time_zone],
        help_text=_("Such as Europe/Berlin. Empty: the project's."),
    )
    payload = models.JSONField(
        _("payload"),
        default=dict,
        db_default=Value({}, models.JSONField()),
        blank=True,
        validators=[validate_payload],
        help_text=_("Keyword arguments of the task, as a JSON object."),
    )
    queue = models.CharField(_("queue"), max_length=255, default="default", db_default="default")
    enqueuer = models.CharField(
        _("queue system"),
        max_length=100,
        blank=True,
        default="",
        db_default="",
        help_text=_("A name among ENQUEUERS. Empty: the default one."),
    )
    options = models.JSONField(
        _("options"),
        default=dict,
        db_default=Value({}, models.JSONField()),
        blank=True,
        help_text=_("Options of the queue system, as a JSON object."),
    )
    description = models.TextField(_("description"), blank=True, default="", db_default="")
    is_active = models.BooleanField(_("active"), default=True, db_default=True)
    pause_reason = models.TextField(_("reason of the pause"), blank=True, default="", db_default="")

    misfire_policy = models.CharField(
        _("missed runs"),
        max_length=20,
        default=MisfirePolicy.FIRE_ONCE.value,
        db_default=MisfirePolicy.FIRE_ONCE.value,
        choices=[
            (MisfirePolicy.FIRE_ONCE.value, _("run the latest one")),
            (MisfirePolicy.FIRE_ALL.value, _("run them all, oldest first")),
            (MisfirePolicy.SKIP.value, _("skip them")),
        ],
    )
    max_catch_up = models.PositiveIntegerField(
        _("missed runs at most"),
        default=100,
        db_default=100,
        validators=[MinValueValidator(1), MaxValueValidator(10_000)],
        help_text=_("When all are run: at most this many, the newest."),
    )
    catch_up_window_seconds = models.PositiveIntegerField(
        _("catch-up window (seconds)"),
        null=True,
        blank=True,
        validators=[
            MinValueValidator(60, _("With less than a minute it would never run: use 60 or more."))
        ],
        help_text=_("Missed runs older than this are skipped. Empty: the project's."),
    )
    overlap_policy = models.CharField(
        _("overlapping runs"),
        max_length=20,
        default=OverlapPolicy.ALLOW.value,
        db_default=OverlapPolicy.ALLOW.value,
        choices=[
            (OverlapPolicy.ALLOW.value, _("allow")),
            (OverlapPolicy.SKIP.value, _("skip while one is unfinished")),
        ],
    )
    max_run_seconds = models.PositiveIntegerField(
        _("longest run (seconds)"),
        default=86_400,
        db_default=86_400,
        validators=[MinValueValidator(1)],
        help_text=_("A run counts as unfinished for at most this long."),
    )
    jitter_seconds = models.PositiveIntegerField(
        _("jitter (seconds)"),
        default=0,
        db_default=0,
        validators=[MaxValueValidator(86_400)],
        help_text=_("Delivery waits up to this long, a fixed time for each run."),
    )
    delivery = models.CharField(
        _("delivery"),
        max_length=20,
        default=Delivery.AT_LEAST_ONCE.value,
        db_default=Delivery.AT_LEAST_ONCE.value,
        choices=[
            (Delivery.AT_LEAST_ONCE.value, _("at least once")),
            (Delivery.AT_MOST_ONCE.value, _("at most once")),
        ],
        help_text=_("Where the queue cannot refuse a run it has already seen."),
    )
    dst_gap = models.CharField(
        _("when clocks go forward"),
        max_length=10,
        default="run_after",
        db_default="run_after",
        choices=[("run_after", _("run right after the gap")), ("skip", _("skip"))],
        help_text=_("For a fixed time that does not exist on that day."),
    )
    dst_fold = models.CharField(
        _("when clocks go back"),
        max_length=10,
        default="first",
        db_default="first",
        choices=[("first", _("first pass")), ("second", _("second pass")), ("both", _("both"))],
        help_text=_("For a fixed time that comes twice on that day."),
    )
    ping_url = models.CharField(
        _("ping URL"),
        max_length=500,
        blank=True,
        default="",
        db_default="",
        help_text=_("Told when a run starts, succeeds or fails; one that PING_URLS allows."),
    )
    starts_at = models.DateTimeField(_("not before"), null=True, blank=True)
    ends_at = models.DateTimeField(_("not after"), null=True, blank=True)
    created_at = models.DateTimeField(
        _("created"), editable=False, serialize=False, db_default=Now()
    )

    # owned by the scheduler
    next_run_at = models.DateTimeField(
        _("next run"), null=True, blank=True, editable=False, serialize=False
    )
    last_run_at = models.DateTimeField(
        _("last run"), null=True, blank=True, editable=False, serialize=False
    )
    last_error = models.TextField(
        _("error"), blank=True, editable=False, serialize=False, default="", db_default=""
    )
    is_settled = models.BooleanField(
        editable=False, serialize=False, default=False, db_default=False
    )
    planned_cron_expression = models.CharField(
        max_length=255, null=True, editable=False, serialize=False
    )
    planned_time_zone = models.CharField(max_length=64, null=True, editable=False, serialize=False)
    planned_dst_gap = models.CharField(max_length=10, null=True, editable=False, serialize=False)
    planned_dst_fold = models.CharField(max_length=10, null=True, editable=False, serialize=False)
    planned_starts_at = models.DateTimeField(null=True, editable=False, serialize=False)
    planned_ends_at = models.DateTimeField(null=True, editable=False, serialize=False)
    planned_in_zone = models.CharField(
        max_length=64, editable=False, serialize=False, default="", db_default=""
    )
    planned_with_tzdata = models.CharField(
        max_length=20, editable=False, serialize=False, default="", db_default=""
    )
    due_at = models.GeneratedField(
        expression=DUE_AT,
        output_field=models.DateTimeField(null=True),
        db_persist=True,
        editable=False,
        serialize=False,
    )

    objects = CronJobManager()

    class Meta:
        verbose_name = _("cron job")
        verbose_name_plural = _("cron jobs")
        ordering = ("job_id",)
        permissions = [
            ("run_cronjob", _("Can run cron jobs now")),
            ("pause_cronjob", _("Can pause and resume cron jobs")),
        ]
        constraints = [
            models.UniqueConstraint(fields=["job_id"], name="django_dyncron_cronjob_job_id")
        ]
        indexes = [
            models.Index(fields=["due_at"], name="django_dyncron_cronjob_due_at"),
            # Few jobs have an error, and nobody should have to look at all for them.
            models.Index(
                fields=["job_id"],
                condition=models.Q(last_error__gt=""),
                name="django_dyncron_cronjob_error",
            ),
        ]

    def __str__(self) -> str:
        return self.job_id

    def natural_key(self) -> tuple[str]:
        return (self.job_id,)

    @property
    def is_broken(self) -> bool:
        """Whether the scheduler found that this row cannot be planned; ``last_error`` says why."""
        return self.is_settled and not self.planned_in_zone

    def clean_fields(self, exclude: Collection[str] | None = None) -> None:
        """Raise :class:`ValidationError` for each field, and for what no field can judge alone.

        A fault of a field in ``exclude`` is told of the row as a whole.
        """
        from ..job_checks import check_job, check_ping_url

        if self.payload is None:
            self.payload = {}
        faults: dict[str, list[Any]] = {}
        try:
            super().clean_fields(exclude)
        except ValidationError as error:
            error.update_error_dict(faults)
        wrong = check_job(self.definition())
        if messages := check_ping_url(self.ping_url):
            wrong["ping_url"] = messages
        for name, messages in wrong.items():
            key = NON_FIELD_ERRORS if name in (exclude or ()) else name
            faults.setdefault(key, []).extend(messages)
        if faults:
            raise ValidationError(faults)

    def definition(self) -> CronJobDefinition:
        """Return this row as the scheduler's value."""
        return CronJobDefinition(**{name: getattr(self, name) for name in DEFINITION_FIELDS})


DEFINITION_FIELDS = tuple(
    field.name
    for field in CronJob._meta.concrete_fields
    if field.name in CronJobDefinition.__dataclass_fields__
)
"""The columns that a :class:`CronJobDefinition` is made of."""

pre_save.connect(keep_on_raw_save, sender=CronJob)
post_save.connect(read_again_after_raw_save, sender=CronJob)
