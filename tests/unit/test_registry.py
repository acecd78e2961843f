"""Registering tasks and declaring jobs: no Django involved."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

import pytest

from django_dyncron.core.exceptions import EnqueueRefused
from django_dyncron.registry import (
    DeclaredJob,
    background_task,
    bind_payload,
    cron_job,
    declared_jobs,
    jobs,
    registered_tasks,
    resolve_task,
    tasks,
)

HERE = __name__


@pytest.fixture(autouse=True)
def _empty_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_tasks", {})
    monkeypatch.setattr(jobs, "_jobs", {})


def report(day: str, *, full: bool = False) -> str:
    return f"{day} {full}"


async def ping(url: str) -> str:
    return url


def positional(day: str, /) -> None: ...


class Shop:
    def close(self) -> None: ...


def a_function(name: str) -> FunctionType:
    """A new function object of this module, as reloading it would make."""
    made = FunctionType(report.__code__, globals(), name)
    made.__qualname__ = name
    made.__kwdefaults__ = report.__kwdefaults__
    return made


def test_importing_the_registry_does_not_import_django() -> None:
    code = "import sys, django_dyncron, django_dyncron.registry; sys.exit('django' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_bare_decorator_registers_and_returns_the_function_itself() -> None:
    assert background_task(report) is report
    assert registered_tasks()[f"{HERE}.report"].function is report
    assert registered_tasks()[f"{HERE}.report"].queue == "default"


def test_a_queue_is_kept_as_the_suggestion() -> None:
    assert background_task(queue="mail")(ping) is ping
    assert registered_tasks()[f"{HERE}.ping"].queue == "mail"


def test_registering_again_replaces_as_reloading_does() -> None:
    background_task(report)
    reloaded = background_task(queue="reports")(a_function("report"))
    assert list(registered_tasks()) == [f"{HERE}.report"]
    assert resolve_task(f"{HERE}.report") is reloaded
    assert registered_tasks()[f"{HERE}.report"].queue == "reports"


def nested() -> Callable[[], None]:
    def inner() -> None: ...

    return inner


@pytest.mark.parametrize(
    "target, reason",
    [
        (lambda: None, "not at the top of its module"),
        (nested(), "not at the top of its module"),
        (Shop.close, "not at the top of its module"),
        (Shop().close, "not a plain function"),
        (Shop, "not a plain function"),
        (print, "not a plain function"),
        ("report", "not a plain function"),
    ],
    ids=["lambda", "nested", "method", "bound method", "class", "builtin", "text"],
)
def test_what_no_worker_could_find_by_name_is_refused(target: Any, reason: str) -> None:
    with pytest.raises(TypeError, match=reason):
        background_task(target)
    assert dict(registered_tasks()) == {}


def test_cron_job_declares_a_job_and_registers_its_task() -> None:
    decorated = cron_job(
        "0 6 * * *",
        job_id="morning",
        payload={"day": "today"},
        queue="reports",
        time_zone="Europe/Berlin",
    )(report)
    assert decorated is report
    assert resolve_task(f"{HERE}.report") is report
    assert declared_jobs() == (
        DeclaredJob(
            job_id="morning",
            task_name=f"{HERE}.report",
            cron_expression="0 6 * * *",
            payload={"day": "today"},
            queue="reports",
            policies={"time_zone": "Europe/Berlin"},
        ),
    )


def test_a_declaration_turns_into_columns_and_into_a_definition() -> None:
    cron_job("@daily", job_id="m", payload={"url": "/"}, max_run_seconds=60, is_active=False)(ping)
    (job,) = declared_jobs()
    assert job.values() == {
        "job_id": "m",
        "task_name": f"{HERE}.ping",
        "cron_expression": "@daily",
        "payload": {"url": "/"},
        "queue": "default",
        "max_run_seconds": 60,
        "is_active": False,
    }
    assert job.definition().max_run_seconds == 60
    assert job.definition().misfire_policy == "fire_once"


def test_the_job_id_defaults_to_the_name_and_the_queue_to_the_task_s() -> None:
    cron_job("0 6 * * *", payload={"day": "today"})(background_task(queue="reports")(report))
    (job,) = declared_jobs()
    assert (job.job_id, job.queue) == (f"{HERE}.report", "reports")
    assert registered_tasks()[f"{HERE}.report"].queue == "reports"


def test_one_function_may_have_several_jobs() -> None:
    for job_id in ("a", "b"):
        cron_job("0 6 * * *", job_id=job_id, payload={"day": "today"})(report)
    assert [job.job_id for job in declared_jobs()] == ["a", "b"]


def test_a_reloaded_declaration_replaces_the_old_one() -> None:
    cron_job("0 6 * * *", job_id="a", payload={"day": "today"})(report)
    cron_job("0 7 * * *", job_id="a", payload={"day": "today"})(a_function("report"))
    assert [job.cron_expression for job in declared_jobs()] == ["0 7 * * *"]


@pytest.mark.parametrize("second", [report, ping], ids=["the same function", "another"])
def test_a_job_id_that_is_declared_twice_is_kept_twice(second: Any) -> None:
    cron_job("0 6 * * *", job_id="a", payload={"day": "today"})(report)
    cron_job("0 7 * * *", job_id="a", payload={"day": "today"})(second)
    assert [(job.task_name, job.cron_expression) for job in declared_jobs()] == [
        (f"{HERE}.report", "0 6 * * *"),
        (f"{HERE}.{second.__name__}", "0 7 * * *"),
    ]


@pytest.mark.parametrize(
    "values",
    [
        {"expression": "61 6 * * *"},
        {"expression": 6},
        {"job_id": 7},
        {"job_id": ["a"]},
        {"job_id": ""},
        {"payload": {}},
        {"payload": [1]},
        {"queue": 5},
        {"queue": ""},
        {"time_zone": "Europe/Berlim"},
        {"dst_gap": "jump"},
        {"starts_at": "soon"},
    ],
    ids=repr,
)
def test_values_are_kept_as_they_were_written_right_or_wrong(values: dict[str, Any]) -> None:
    written = {"expression": "0 6 * * *", "payload": {"day": "today"}, **values}
    assert cron_job(written.pop("expression"), **written)(report) is report
    (job,) = declared_jobs()
    columns = {"cron_expression" if name == "expression" else name: values[name] for name in values}
    assert columns.items() <= job.values().items()


def test_an_unknown_keyword_is_refused_with_the_function_and_the_job_id() -> None:
    with pytest.raises(TypeError) as caught:
        cron_job("0 6 * * *", job_id="bad", time_zon="UTC")(report)
    assert str(caught.value) == (
        f"cron_job() of {HERE}.report, cron job \"bad\", has no argument 'time_zon'. "
        'Did you mean "time_zone"?'
    )
    for name in ("next_run_at", "cron_expression"):
        with pytest.raises(TypeError, match=f"no argument '{name}'"):
            cron_job("0 6 * * *", **{name: None})(report)
    with pytest.raises(TypeError, match=r"Did you mean \"payload\"\?"):
        cron_job("0 6 * * *", paylod={})(report)
    assert declared_jobs() == ()


def test_a_job_may_be_declared_for_a_task_object() -> None:
    def with_context(context: object, day: str) -> None: ...

    task = SimpleNamespace(
        module_path="shop.tasks.report", func=with_context, takes_context=True, queue_name="slow"
    )
    assert cron_job("0 6 * * *", payload={"day": "today"})(task) is task
    (job,) = declared_jobs()
    assert (job.task_name, job.queue) == ("shop.tasks.report", "slow")
    assert dict(registered_tasks()) == {}


@pytest.mark.parametrize("payload", [{"day": "today"}, {"day": "today", "full": True}])
def test_a_payload_that_fits_is_accepted(payload: dict[str, Any]) -> None:
    bind_payload(report, payload)


@pytest.mark.parametrize(
    "function, payload, words",
    [
        (report, {}, "report takes (day, *, full=False): missing a required argument: 'day'."),
        (report, {"day": "d", "fool": 1}, "unexpected keyword argument 'fool'"),
        (positional, {"day": "d"}, "day"),
        (report, ["today"], "must be an object"),
        (report, None, "must be an object"),
        (report, {1: 2}, "must be an object"),
    ],
)
def test_a_payload_that_does_not_fit_is_refused_in_words(
    function: Any, payload: Any, words: str
) -> None:
    with pytest.raises(EnqueueRefused) as caught:
        bind_payload(function, payload)
    assert words in str(caught.value)
    assert caught.value.field == "payload"


def test_arguments_the_queue_supplies_are_not_asked_for() -> None:
    def with_context(context: object, day: str) -> None: ...

    bind_payload(with_context, {"day": "today"}, skip=1)
    with pytest.raises(EnqueueRefused, match=r"takes \(day\)"):
        bind_payload(with_context, {}, skip=1)
