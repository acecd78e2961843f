"""Pausing and resuming: some jobs, by their rows, or everything, by an interval."""

from __future__ import annotations

from django.db import IntegrityError, connections, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Greatest, Now

from .conf import database_alias, read_settings
from .models import CronJob, Pause

_AT_ONCE = 500


def pause(jobs: QuerySet[CronJob], reason: str = "") -> list[CronJob]:
    """Pause those of ``jobs`` that are active, for a ``reason``; return them as they were.

    The reason given for one that is paused already stands.
    """
    return _switch(jobs, is_active=False, reason=reason)


def resume(jobs: QuerySet[CronJob]) -> list[CronJob]:
    """Resume those of ``jobs`` that are paused, from this moment on; return them as they were.

    Nothing of the past is made up.
    """
    return _switch(jobs, is_active=True, reason="")


def _switch(jobs: QuerySet[CronJob], *, is_active: bool, reason: str) -> list[CronJob]:
    # Beneath a query of its own: what joins or groups rows cannot be locked.
    alias = jobs.select_for_update().db
    rows = CronJob.objects.using(alias).select_for_update().order_by("pk")
    to_switch = rows.filter(pk__in=jobs.order_by().values("pk"), is_active=not is_active)
    with transaction.atomic(using=alias):
        if not connections[alias].features.has_select_for_update:
            # A transaction that reads first could not wait for those that write.
            rows.filter(pk=0).update(pause_reason="")
        found = list(to_switch)
        keys = [job.pk for job in found]
        for start in range(0, len(keys), _AT_ONCE):
            # By update(), which lets a resumed schedule count from now.
            some = rows.filter(pk__in=keys[start : start + _AT_ONCE])
            some.update(is_active=is_active, pause_reason=reason)
    return found


def pause_all(reason: str = "", by: str = "", using: str | None = None) -> Pause | None:
    """Pause everything from now on, unless it is; return the pause that lasts.

    No scheduler claims a slot while it lasts. Of two people who ask at once, one begins it, and
    both are told of that one. It is ``None`` only if somebody resumed just then. ``using`` is a
    database alias, by default the scheduler's.
    """
    return begin_pause(reason, by, using) or current_pause(using)


def begin_pause(reason: str = "", by: str = "", using: str | None = None) -> Pause | None:
    """Pause everything as :func:`pause_all` does; return ``None`` if somebody else has."""
    alias = using or _alias()
    pauses = Pause.objects.using(alias)
    try:
        with transaction.atomic(using=alias):
            begun = pauses.create(reason=reason, paused_by=by)
    except IntegrityError:
        return None
    # Not every database gives back what it has put in by itself.
    return pauses.get(pk=begun.pk)


def resume_all(by: str = "", using: str | None = None) -> bool:
    """End the pause of everything; return whether there was one. No job's row is touched."""
    lasting = Pause.objects.using(using or _alias()).filter(until__isnull=True)
    # Not before it began, whatever became of the clock.
    return bool(lasting.update(until=Greatest(Now(), F("since")), resumed_by=by))


def current_pause(using: str | None = None) -> Pause | None:
    """Return the pause of everything that lasts, if there is one."""
    return Pause.objects.using(using or _alias()).filter(until__isnull=True).first()


def _alias() -> str:
    return database_alias(read_settings()[0])
