"""Field validators: the parser that runs a job also refuses it in a form."""

from __future__ import annotations

import json
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from .core.exceptions import InvalidCronExpression
from .core.schedule import CronSchedule
from .describe import error_text


def validate_cron_expression(value: str) -> None:
    """Raise :class:`ValidationError` if ``value`` is not a cron expression that can be scheduled.

    ``H`` is checked with a stand-in for the job id, which a field alone does not know.
    """
    try:
        CronSchedule.parse(value, hash_id="job")
    except InvalidCronExpression as error:
        raise ValidationError(error_text(error), code="invalid_cron_expression") from error


def validate_time_zone(value: str) -> None:
    """Raise :class:`ValidationError` if ``value`` is not the name of a known IANA time zone."""
    try:
        CronSchedule.parse("* * * * *", value)
    except InvalidCronExpression as error:
        raise ValidationError(error_text(error), code="unknown_time_zone") from error


def validate_payload(value: Any) -> None:
    """Raise :class:`ValidationError` unless ``value`` is a JSON object.

    ``NaN`` and infinities are refused: JSON (RFC 8259, section 6) has no such numbers, and
    PostgreSQL none of them in a ``jsonb`` column.
    """
    if not isinstance(value, dict):
        raise ValidationError(
            _('The payload must be a JSON object such as {"user_id": 7}.'), code="not_an_object"
        )
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValidationError(
            _("The payload holds what JSON cannot: %(error)s"),
            code="not_json",
            params={"error": error},
        ) from error
