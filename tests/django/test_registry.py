"""From a name to a function: what the settings allow, and what they never can."""

from __future__ import annotations

import sys

import pytest
from django.test import override_settings

from django_dyncron.core.exceptions import EnqueueRefused
from django_dyncron.registry import (
    discover_tasks,
    is_allowed,
    is_task_module,
    registered_tasks,
    resolve_task,
)
from tests.shop import tasks


def refusal(name: object) -> str:
    with pytest.raises(EnqueueRefused) as caught:
        resolve_task(name)  # type: ignore[arg-type]
    assert caught.value.field == "task_name"
    return str(caught.value)


def test_a_registered_task_needs_no_permission() -> None:
    assert resolve_task("tests.shop.tasks.build_report") is tasks.build_report


def test_an_unknown_name_is_refused_with_the_nearest_known_one() -> None:
    assert refusal("tests.shop.tasks.build_rapport") == (
        "'tests.shop.tasks.build_rapport' is not a registered task, nor allowed by ALLOWED_TASKS. "
        'Did you mean "tests.shop.tasks.build_report"?'
    )


@pytest.mark.parametrize(
    "name", ["os.system", "tests.shop.tasks.restock", "restock", "", ".", "x" * 300, None, 7, []]
)
def test_what_nobody_allowed_is_refused(name: object) -> None:
    assert "task" in refusal(name)


@override_settings(DYNCRON={"ALLOWED_TASKS": ["tests.shop.tasks.*"]})
def test_a_function_of_an_allowed_module_is_found() -> None:
    assert resolve_task("tests.shop.tasks.restock") is tasks.restock


@override_settings(DYNCRON={"ALLOWED_TASKS": ["tests.shop.tasks.*", "os.*", "posix.*", "*.*"]})
@pytest.mark.parametrize(
    "name, reason",
    [
        ("tests.shop.tasks.system", "not a plain function"),
        ("os.system", "not a plain function"),
        ("tests.shop.tasks.round_prices", "is 'tests.shop.prices.round_prices', which"),
        ("tests.shop.tasks.Ledger", "not a plain function"),
        ("tests.shop.tasks.ledger", "not a plain function"),
        ("tests.shop.tasks.restok", "has no 'restok'. Did you mean \"restock\"?"),
        ("tests.shop.tasks.ledger.close", "nor allowed"),
        ("tests.shop.task.restock", "nor allowed"),
    ],
)
def test_what_an_allowed_module_merely_imported_or_holds_is_refused(name: str, reason: str) -> None:
    assert reason in refusal(name)


@override_settings(DYNCRON={"ALLOWED_TASKS": ["tests.shop.nothing.*"]})
def test_a_module_that_cannot_be_imported_is_a_refusal() -> None:
    assert "'tests.shop.nothing' cannot be imported: ModuleNotFoundError" in refusal(
        "tests.shop.nothing.at_all"
    )


def test_a_name_that_is_not_allowed_is_not_even_imported() -> None:
    sys.modules.pop("this", None)
    refusal("this.s")
    assert "this" not in sys.modules


@override_settings(DYNCRON={"ALLOWED_TASKS": ["shop.*.*", "shop.mail.send", "*.jobs.nightly"]})
@pytest.mark.parametrize(
    "name, expected",
    [
        ("shop.tasks.report", True),
        ("shop.mail.send", True),
        ("crm.jobs.nightly", True),
        ("shop.report", False),
        ("shop.tasks.daily.report", False),
        ("myshop.tasks.report", False),
        ("crm.jobs.nightly_extra", False),
        ("shop", False),
    ],
)
def test_a_star_is_exactly_one_segment(name: str, expected: bool) -> None:
    assert is_allowed(name) is expected


def test_discovery_imports_the_tasks_module_of_installed_apps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not is_task_module("tests.shop.tasks")
    monkeypatch.setattr("django_dyncron.registry.tasks._tasks", {})
    saved = sys.modules.pop("tests.shop.tasks")
    with override_settings(INSTALLED_APPS=["tests.shop"]):
        discover_tasks()
        assert is_task_module("tests.shop.tasks")
        assert is_task_module("tests.shop.tasks.nightly")
        assert not is_task_module("tests.shop.tasks_of_others")
        assert not is_task_module("tests.shop")
    assert "tests.shop.tasks.ping" in registered_tasks()
    monkeypatch.setitem(sys.modules, "tests.shop.tasks", saved)
