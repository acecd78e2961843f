"""What Celery is given, and what it makes of it when it is to run tasks eagerly."""

from __future__ import annotations

from uuid import UUID

import pytest
from celery import Celery

import tests.shop.tasks
from django_dyncron import current_run
from django_dyncron.context import CurrentRun
from django_dyncron.core.runs import Attempt, Outcome
from tests.django.celery.sending import DAY, REPORT, Make, a_run, enqueue, received


def test_the_message_of_a_registered_task(make: Make, app: Celery) -> None:
    run = a_run("ship", {"box": "rød"}, run_id=UUID(int=7))

    (attempt,) = enqueue(make(), run)

    assert attempt == Attempt(run, Outcome.ENQUEUED, task_id=str(UUID(int=7)))
    (message,) = received(app)
    assert message.headers["id"] == str(UUID(int=7))
    assert message.headers["task"] == "ship"
    assert message.headers["kwargsrepr"] == "{'box': 'rød'}"
    assert message.headers["ignore_result"] is True
    assert message.headers["dyncron"] == {
        "run_id": str(UUID(int=7)),
        "job_id": "nightly",
        "scheduled_for": "2026-11-01T05:30:00+00:00",
    }
    assert message.decode()[:2] == [[], {"box": "rød"}]


def test_the_message_of_a_background_task(make: Make, app: Celery) -> None:
    run = a_run(REPORT, DAY)

    enqueue(make(), run)

    (message,) = received(app)
    identity = CurrentRun.of(run).as_json()
    assert message.headers["task"] == "django_dyncron.run_background_task"
    assert message.headers["shadow"] == REPORT
    assert message.headers["kwargsrepr"] == "{'day': '2026-11-01'}"
    assert message.headers["dyncron"] == identity
    assert message.headers["ignore_result"] is True
    assert message.decode()[1] == {"task_name": REPORT, "payload": DAY, "run": identity}


async def test_a_task_that_is_no_run(make: Make, app: Celery) -> None:
    enqueuer = make()

    task_id = await enqueuer.enqueue_task("pack", {"box": "red"}, "default")
    await enqueuer.aclose()

    (message,) = received(app)
    assert message.headers["id"] == task_id
    assert "dyncron" not in message.headers


@pytest.mark.parametrize("task_name", ["pack", REPORT])
def test_a_long_payload_is_shown_in_short(make: Make, app: Celery, task_name: str) -> None:
    payload = {"box" if task_name == "pack" else "day": "x" * 5000}

    enqueue(make(), a_run(task_name, payload))

    (message,) = received(app)
    assert len(message.headers["kwargsrepr"]) == 1024


@pytest.mark.django_db(transaction=True)
def test_eager_tasks_know_their_run(make: Make, app: Celery) -> None:
    seen: list[CurrentRun | None] = []

    @app.task(name="see", shared=False)
    def see() -> None:
        seen.append(current_run())

    @app.task(name="break", shared=False)
    def break_() -> None:
        raise RuntimeError("out of tape")

    native, background, broken = a_run("see", {}), a_run(REPORT, DAY), a_run("break", {})
    enqueuer = make(task_always_eager=True, broker_url="redis://127.0.0.1:1/0")

    attempts = enqueue(enqueuer, native, background, broken)

    assert [attempt.outcome for attempt in attempts] == [Outcome.ENQUEUED] * 3
    assert seen == [CurrentRun.of(native)]
    assert tests.shop.tasks.runs == [CurrentRun.of(background)]
    assert current_run() is None
