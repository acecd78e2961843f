"""What a job may name for Celery to run, and with which payload."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from django.test import override_settings

from django_dyncron.context import CurrentRun
from django_dyncron.core.exceptions import EnqueueRefused
from django_dyncron.core.runs import Outcome
from django_dyncron.enqueuers import celery as adapter
from django_dyncron.enqueuers.celery import CeleryTaskEnqueuer
from tests.django.celery.sending import DAY, REPORT, Make, a_run, enqueue, received

CELERY_TASKS = "tests.engines.on_celery.tasks"


@pytest.mark.parametrize(
    "name, payload",
    [
        ("pack", {"box": "red", "count": 2}),
        ("ship", {"box": "red"}),
        ("weigh", {"box": "red"}),
        ("anything", {"what": "ever"}),
        (f"{CELERY_TASKS}.note", {"path": "x", "word": "y"}),
        (f"{CELERY_TASKS}.fail", {"path": "x", "message": "y"}),
        ("celery-fail", {"path": "x", "message": "y"}),
        (REPORT, DAY),
        ("tests.shop.tasks.ping", {"url": "/"}),
    ],
)
def test_what_is_accepted(make: Make, name: str, payload: dict[str, Any]) -> None:
    make().check_task(name, payload, "default")


@pytest.mark.parametrize(
    "name, payload, field, message",
    [
        ("pack", {}, "payload", "missing a required argument: 'box'"),
        ("pack", {"box": "red", "size": 1}, "payload", "unexpected keyword argument 'size'"),
        ("ship", {"self": 1, "box": "red"}, "payload", "'self'"),
        ("weigh", {}, "payload", "'box'"),
        ("anything", ["what"], "payload", "must be an object"),
        (REPORT, {}, "payload", "'day'"),
        ("unpack", {}, "task_name", "not a registered task, nor allowed by ALLOWED_TASKS"),
        ("tests.shop.tasks.restock", {}, "task_name", "nor allowed by ALLOWED_TASKS"),
        ("os.system", {"command": "exit"}, "task_name", "nor allowed by ALLOWED_TASKS"),
        ("elsewhere.tasks.charge", {}, "task_name", "nor allowed by ALLOWED_TASKS"),
        ("", {}, "task_name", "not a registered task"),
        (".pack", {}, "task_name", "not a registered task"),
        ("django_dyncron.run_background_task", {"task_name": "x"}, "task_name", "runs other tasks"),
        ("celery.map", {"task": {"task": "pack"}, "it": []}, "task_name", "of Celery's own"),
        ("celery.backend_cleanup", {}, "task_name", "of Celery's own"),
        ("celery.not_yet", {}, "task_name", "of Celery's own"),
    ],
)
def test_what_is_refused(make: Make, name: str, payload: Any, field: str, message: str) -> None:
    with pytest.raises(EnqueueRefused) as refusal:
        make().check_task(name, payload, "default")

    assert refusal.value.field == field
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    "inner, message",
    [
        ("celery.group", "is a task of Celery's own"),
        ("django_dyncron.run_background_task", "runs other tasks"),
    ],
)
def test_tasks_that_send_others_are_refused_by_their_path_too(
    make: Make, app: Celery, monkeypatch: pytest.MonkeyPatch, inner: str, message: str
) -> None:
    monkeypatch.setattr(f"{CELERY_TASKS}.fan_out", app.tasks[inner], raising=False)

    with pytest.raises(EnqueueRefused, match=f"{inner}' {message}"):
        make().check_task(f"{CELERY_TASKS}.fan_out", {"task_name": "x"}, "default")


def test_a_name_imports_nothing_that_is_not_allowed(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dangerous_one.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(EnqueueRefused, match="nor allowed by ALLOWED_TASKS"):
        make().check_task("dangerous_one.explode", {}, "default")
    assert "dangerous_one" not in sys.modules


def test_modules_that_the_settings_of_celery_name(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "celery_only.py").write_text(
        "from celery import shared_task\n@shared_task(name='tidy')\ndef tidy(room): ...\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    enqueuer = make(include=["celery_only"])

    enqueuer.check_task("tidy", {"room": 1}, "default")

    with pytest.raises(EnqueueRefused, match="'room'"):
        enqueuer.check_task("tidy", {}, "default")


@override_settings(DYNCRON={"ALLOWED_TASKS": ["elsewhere.tasks.*", "tests.shop.tasks.*"]})
def test_a_task_that_only_the_workers_have(make: Make, app: Celery) -> None:
    run = a_run("elsewhere.tasks.charge", {"amount": 7})

    (attempt,) = enqueue(make(), run)

    assert attempt.outcome == Outcome.ENQUEUED
    (message,) = received(app)
    assert message.headers["task"] == "elsewhere.tasks.charge"
    assert message.headers["ignore_result"] is None
    assert message.headers["dyncron"] == CurrentRun.of(run).as_json()
    assert message.decode()[1] == {"amount": 7}


@override_settings(DYNCRON={"ALLOWED_TASKS": ["elsewhere.tasks.*", "tests.shop.tasks.*"]})
def test_a_slip_of_the_pen_is_no_task_elsewhere(make: Make) -> None:
    with pytest.raises(EnqueueRefused, match="has no 'build_reprot'"):
        make().check_task("tests.shop.tasks.build_reprot", {}, "default")
    with pytest.raises(EnqueueRefused, match="cannot be imported"):
        make(task_always_eager=True).check_task("elsewhere.tasks.charge", {}, "default")
    with pytest.raises(EnqueueRefused, match="must be an object"):
        make(task_always_eager=False).check_task("elsewhere.tasks.charge", [], "default")


def test_the_app_by_its_path(app: Celery, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.shop.prices.app", app, raising=False)

    for path in ("tests.shop.prices.app", "tests.shop.prices:app"):
        CeleryTaskEnqueuer(app=path).check_task("pack", {"box": "red"}, "default")

    with pytest.raises(ValueError, match=r"'tests.shop.prices.round_prices' is no Celery app"):
        CeleryTaskEnqueuer(app="tests.shop.prices.round_prices")
    with pytest.raises(ValueError, match=r"'tests.shop.celery.app' cannot be imported: No module"):
        CeleryTaskEnqueuer(app="tests.shop.celery.app")


def test_a_project_without_an_app(monkeypatch: pytest.MonkeyPatch) -> None:
    made_up = Celery("default", fixups=[], set_as_current=False)
    monkeypatch.setattr(adapter, "app_or_default", lambda: made_up)

    with pytest.raises(ValueError, match="There is no Celery app: import it"):
        CeleryTaskEnqueuer()
