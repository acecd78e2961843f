"""What can be wrong with a cron job as a whole, found when somebody saves it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.utils.translation import gettext as _

from .conf import ConfigurationError, get_settings, load_enqueuer, read_settings
from .core.definitions import CronJobDefinition
from .core.exceptions import EnqueueRefused, InvalidCronExpression
from .core.ping_targets import PingKind, ping_target, plain_url
from .core.policies import OverlapPolicy
from .core.schedule import CronSchedule
from .core.text import one_line
from .describe import error_text
from .validators import validate_cron_expression, validate_payload, validate_time_zone

_Fault = tuple[str, str]
_OF_THE_TASK = frozenset({"task_name", "payload", "queue", "options"})


def check_job(job: CronJobDefinition) -> dict[str, list[str]]:
    """Return what is wrong with ``job``, as messages by field name; empty if nothing is.

    These are the rules beyond a field's own validators, what those refuse not being said again:
    names that look like others, the expression in its zone, the order of its dates, and whether its
    enqueuer would take the task. A fault of the settings, not of the job, is under
    ``NON_FIELD_ERRORS``.
    """
    faults: dict[str, list[str]] = {}
    for find in (_in_names, _in_schedule, _in_dates, _in_objects, _in_enqueuer, _in_task):
        for field, message in find(job):
            faults.setdefault(field, []).append(message)
    return faults


def fault_words(error: ValidationError) -> list[str]:
    """Return the messages of ``error``, each after its field."""
    if not hasattr(error, "error_dict"):
        return list(error.messages)
    return [
        message if field == NON_FIELD_ERRORS else f"{field}: {message}"
        for field, messages in error.message_dict.items()
        for message in messages
    ]


def check_ping_url(url: str) -> list[str]:
    """Return what is wrong with the ping URL of a job, as messages; empty if nothing is.

    As long as ``PING_URLS`` is empty nothing is pinged, and any plain address will do.
    """
    if not url:
        return []
    if plain_url(url) is None:
        return [_("This is no plain address such as https://hc-ping.com/your-uuid.")]
    beginnings = read_settings()[0].ping_urls
    targets = [ping_target(url, kind, "", beginnings) for kind in PingKind]
    if not beginnings or None not in targets:
        return []
    return [
        _("The setting PING_URLS does not allow this address. One must begin with %s.")
        % " / ".join(beginnings)
    ]


def job_notices(job: CronJobDefinition, ping_url: str = "") -> list[str]:
    """Return what is no mistake in ``job`` but may surprise, in words."""
    notices = []
    if ping_url and not read_settings()[0].ping_urls:
        notices.append(_("The ping URL is not used: the setting PING_URLS is empty."))
    skips_overlaps = job.overlap_policy == OverlapPolicy.SKIP
    if not (skips_overlaps or ping_url) or _tells_ends(job):
        return notices
    if skips_overlaps:
        notices.append(
            _(
                "The queue system does not tell when a run ends, so each counts as unfinished for "
                "%(seconds)d seconds (“longest run”), and what is due meanwhile is skipped."
            )
            % {"seconds": job.max_run_seconds}
        )
    if ping_url:
        notices.append(
            _(
                "The queue system does not tell when a run starts and ends, so its ping URL hears "
                "of nothing but failures to hand it over."
            )
        )
    return notices


def _tells_ends(job: CronJobDefinition) -> bool:
    try:
        return load_enqueuer(job.enqueuer, get_settings()).reports_ends
    except Exception:  # an enqueuer may be anybody's code, and check_job() tells of it
        return True


def _in_names(job: CronJobDefinition) -> Iterator[_Fault]:
    for field in ("job_id", "queue"):
        name = getattr(job, field)
        if name != name.strip() or not name.isprintable():
            yield field, _("There are spaces around it, or characters in it that nobody can see.")


def _in_schedule(job: CronJobDefinition) -> Iterator[_Fault]:
    if _is_refused_alone(job):
        return
    try:
        CronSchedule.parse(
            job.cron_expression,
            job.time_zone or read_settings()[0].time_zone,
            dst_gap=job.dst_gap,
            dst_fold=job.dst_fold,
            hash_id=job.job_id,
        )
    except InvalidCronExpression as error:
        # The two policies are choices, which their fields check.
        if error.field not in ("dst_gap", "dst_fold"):
            yield "cron_expression", error_text(error)


def _is_refused_alone(job: CronJobDefinition) -> bool:
    try:
        validate_cron_expression(job.cron_expression)
        if job.time_zone:
            validate_time_zone(job.time_zone)
    except ValidationError:
        return True
    return False


def _in_dates(job: CronJobDefinition) -> Iterator[_Fault]:
    if job.starts_at and job.ends_at and job.starts_at >= job.ends_at:
        yield "ends_at", _("This must be later than “not before”.")


def _in_objects(job: CronJobDefinition) -> Iterator[_Fault]:
    # A field that may be blank runs no validator on an empty list or an empty text.
    if not job.payload:
        try:
            validate_payload(job.payload)
        except ValidationError as error:
            yield "payload", error.messages[0]
    if not isinstance(job.options, dict):
        yield "options", _("The options must be a JSON object such as {}.")
    elif not _is_json(job.options):
        yield "options", _("The options hold what JSON cannot.")
    for field in ("payload", "options"):
        if not all(map(_is_storable, _texts_in(getattr(job, field)))):
            yield field, _("A text in it holds a NUL or half a character; no database keeps that.")


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for pair in value.items():
            yield from _texts_in(list(pair))
    elif isinstance(value, list):
        for each in value:
            yield from _texts_in(each)


def _is_storable(text: str) -> bool:
    """Tell whether PostgreSQL's ``jsonb`` would take ``text``; SQLite takes anything."""
    return not any(char == "\0" or "\ud800" <= char <= "\udfff" for char in text)


def _in_enqueuer(job: CronJobDefinition) -> Iterator[_Fault]:
    if not _has_enqueuer(job):
        known = ", ".join(["default", *read_settings()[0].enqueuers])
        yield "enqueuer", _("There is no such name among ENQUEUERS: use one of %s.") % known


def _has_enqueuer(job: CronJobDefinition) -> bool:
    return job.enqueuer in ("", "default", *read_settings()[0].enqueuers)


def _in_task(job: CronJobDefinition) -> Iterator[_Fault]:
    if not job.task_name or not _has_enqueuer(job) or not isinstance(job.payload, dict):
        return
    try:
        enqueuer = load_enqueuer(job.enqueuer, get_settings())
        enqueuer.check_task(job.task_name, job.payload, job.queue)
        if isinstance(job.options, dict):
            enqueuer.check_options(job.options)
    except EnqueueRefused as error:
        yield error.field if error.field in _OF_THE_TASK else NON_FIELD_ERRORS, error_text(error)
    except ConfigurationError as error:
        yield NON_FIELD_ERRORS, _("The task cannot be checked, a setting is wrong: %s") % error
    except Exception as error:  # an enqueuer may be anybody's code
        reason = one_line(error, with_type=True)
        yield NON_FIELD_ERRORS, _("The task cannot be checked: %s") % reason
