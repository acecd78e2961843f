"""What users rely on changes only on purpose."""

from __future__ import annotations

import re
from difflib import unified_diff

import pytest

import django_dyncron
import django_dyncron.testing
from tests.public_api import PINNED, lines


def test_nothing_public_has_changed() -> None:
    """If this fails and the change is meant: ``make public-api``, and a word in CHANGELOG.rst."""
    pinned = PINNED.read_text(encoding="utf-8").splitlines()
    changes = list(unified_diff(pinned, lines(), "as promised", "as it is", lineterm="", n=0))
    if changes:
        pytest.fail("\n".join(["The public API has changed:", *changes]), pytrace=False)


def test_the_facade() -> None:
    assert sorted(django_dyncron.__all__) == [
        "CronJobDefinition",
        "CronSchedule",
        "CurrentRun",
        "DynamicScheduler",
        "DyncronError",
        "EnqueueError",
        "EnqueueNotSent",
        "EnqueueRefused",
        "ICronJobRepository",
        "ILockProvider",
        "ITaskEnqueuer",
        "InvalidCronExpression",
        "LockError",
        "RunNotStarted",
        "StoreUnavailable",
        "TickResult",
        "UnknownTimeZone",
        "background_task",
        "cron_job",
        "current_run",
        "runs_once",
    ]


@pytest.mark.parametrize("module", [django_dyncron, django_dyncron.testing])
def test_what_is_exported_is_in_the_reference(module: object) -> None:
    text = PINNED.read_text(encoding="utf-8")
    reference = text[text.index("# Reference") : text.index("# Settings")]
    exported = {f"{module.__name__}.{name}" for name in module.__all__}  # type: ignore[attr-defined]
    assert exported - set(re.findall(r"^(?:async )?([\w.]+)", reference, re.MULTILINE)) == set()


@pytest.mark.parametrize(
    "line",
    [
        "django_dyncron.signals.run_enqueued",
        "async django_dyncron.ILockProvider.release_lock(self, lock_key: str) -> None (required)",
        "django_dyncron.core.policies.MisfirePolicy.FIRE_ONCE = 'fire_once'",
        "django_dyncron.CronJobDefinition.queue: str = 'default'",
        "TICK_INTERVAL_SECONDS = 30",
        "run_dyncron --once nargs=0 = False",
        "django_dyncron_cronjob.job_id: CharField(255)",
        "django_dyncron.run_cronjob",
        "django_dyncron.E001",
        "django_dyncron:health health/",
        "dyncron_runs_enqueued: counter",
        "celery",
    ],
)
def test_each_kind_of_promise_is_written_down(line: str) -> None:
    assert line in lines()
