"""What the errors of local tasks look like in the database, whatever is in them."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.enqueuers import local
from django_dyncron.enqueuers.local import LocalTaskEnqueuer
from django_dyncron.models import CronJob, CronRun
from django_dyncron.repositories.orm import DjangoCronJobRepository
from django_dyncron.testing import FakeClock
from tests.django.local.pool import idle

pytestmark = pytest.mark.django_db(transaction=True)


class Speechless(Exception):
    """An error that cannot even say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    "error, words",
    [
        (FileNotFoundError("no r\udce9sum\udce9.pdf"), "FileNotFoundError: no r?sum?.pdf"),
        (ValueError("nul\0 byte"), "ValueError: nul\N{REPLACEMENT CHARACTER} byte"),
        (ValueError("Ł 😀\r\n\ttab"), "ValueError: Ł 😀 tab"),
        (ValueError("x" * 1_000_000), "ValueError: " + "x" * 1988),
        (ValueError(), "ValueError"),
        (Speechless(), "Speechless"),
    ],
    ids=["surrogates", "nul", "lines", "endless", "nothing", "speechless"],
)
async def test_any_error_can_be_recorded(
    monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(local, "resolve_task", lambda name: fail)
    clock, enqueuer = FakeClock("2026-11-01T05:29:30Z"), LocalTaskEnqueuer()
    scheduler = DynamicScheduler(DjangoCronJobRepository(), enqueuer, clock=clock)
    await CronJob.objects.acreate(
        job_id="report",
        task_name="shop.report",
        cron_expression="30 5 * * *",
        plan_from=datetime.fromisoformat("2026-11-01T05:29Z"),
    )
    await scheduler.tick()
    clock.advance(30)
    await scheduler.tick()
    await idle(enqueuer)
    assert await enqueuer.drain(timedelta(seconds=1)) == []
    await scheduler.aclose()

    run = await CronRun.objects.aget()
    assert (run.status, run.error) == ("failed", words)
    assert (await CronJob.objects.aget()).last_error == words
