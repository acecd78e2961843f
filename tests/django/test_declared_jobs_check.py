"""System checks of jobs declared in code: wrong ones, and those that nobody has synced."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.management import call_command

from django_dyncron import cron_job
from django_dyncron.checks import TAG
from django_dyncron.models import CronJob
from django_dyncron.registry import jobs
from tests.databases import database_alias
from tests.shop.tasks import build_report, ping

pytestmark = pytest.mark.django_db

UNSYNCED = "django_dyncron.I001"


@pytest.fixture(autouse=True)
def _nothing_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_jobs", {})


def declare(job_id: Any, expression: Any = "0 6 * * *", **values: Any) -> None:
    values = {"payload": {"day": "today"}, **values}
    cron_job(expression, job_id=job_id, **values)(build_report)


def warned() -> list[tuple[str, str]]:
    return [(message.id, message.msg) for message in run_checks(tags=[TAG])]


def mentioned(*databases: str) -> list[str]:
    messages = run_checks(databases=databases or None)
    return [message.msg for message in messages if message.id == UNSYNCED]


def test_a_wrong_declaration_is_warned_of_with_all_that_is_wrong() -> None:
    declare("fine")
    declare("wrong", enqueuer="rabbit", max_catch_up=0)
    assert warned() == [
        (
            "django_dyncron.W006",
            (
                'The cron job "wrong" that tests.shop.tasks.build_report declares is wrong: '
                "max_catch_up: Ensure this value is greater than or equal to 1; "
                "enqueuer: There is no such name among ENQUEUERS: use one of default."
            ),
        )
    ]


TEXT = "This must be a text, not int"
NOT_STORABLE = "There is a NUL or half a character in it; no database keeps that"


@pytest.mark.parametrize(
    "values, faults",
    [
        ({"expression": "61 6 * * *"}, "cron_expression: Minute '61': use 0–59"),
        ({"expression": 6}, f"cron_expression: {TEXT}"),
        ({"expression": None}, "cron_expression: This field cannot be null"),
        ({"queue": 5}, f"queue: {TEXT}"),
        ({"queue": ""}, "queue: This field cannot be blank"),
        ({"misfire_policy": 5}, f"misfire_policy: {TEXT}"),
        (
            {"misfire_policy": "fire\nnone"},
            "misfire_policy: Value 'fire\\nnone' is not a valid choice",
        ),
        ({"dst_fold": "third"}, "dst_fold: Value 'third' is not a valid choice"),
        (
            {"payload": [1]},
            'payload: The payload must be a JSON object such as {"user_id": 7}',
        ),
        (
            {"payload": {}},
            (
                "payload: build_report takes (day, *, full=False): "
                "missing a required argument: 'day'"
            ),
        ),
        ({"description": "half \udcff"}, f"description: {NOT_STORABLE}"),
        ({"description": "nul \0"}, f"description: {NOT_STORABLE}"),
        (
            {"starts_at": datetime(2026, 11, 30, 12)},  # noqa: DTZ001
            "starts_at: 2026-11-30 12:00:00 has no time zone: pass an aware datetime",
        ),
        (
            {"jitter_seconds": float("inf")},
            "jitter_seconds: OverflowError: cannot convert float infinity to integer",
        ),
    ],
)
def test_a_mistake_is_told_by_its_field(values: dict[str, Any], faults: str) -> None:
    declare("bad", **values)
    words = 'The cron job "bad" that tests.shop.tasks.build_report declares is wrong:'
    assert warned() == [("django_dyncron.W006", f"{words} {faults}.")]
    assert mentioned("default") == []


def test_all_mistakes_of_a_declaration_are_told_whatever_their_kind() -> None:
    declare("bad", 6, time_zone="Mars/Base", queue=5, starts_at=datetime(2026, 11, 30), options=[])  # noqa: DTZ001
    ((_, message),) = warned()
    told = message.partition("is wrong: ")[2].split("; ")
    assert [each.partition(":")[0] for each in told] == [
        "cron_expression",
        "queue",
        "starts_at",
        "time_zone",
        "options",
    ]


@pytest.mark.parametrize(
    "job_id, shown, fault",
    [
        (7, "7", TEXT),
        (["a"], "['a']", "This must be a text, not list"),
        ("", "", "This field cannot be blank"),
        ("half \udcff", "half \\udcff", NOT_STORABLE),
    ],
)
def test_a_job_id_may_be_anything_without_hiding_the_others(
    job_id: Any, shown: str, fault: str
) -> None:
    declare("fine")
    declare(job_id)
    words = "that tests.shop.tasks.build_report declares is wrong: job_id:"
    assert [message for _, message in warned()] == [
        f'The cron job "{shown}" {words} {fault}.',
    ]
    assert mentioned("default") == ['The cron job "fine" is declared in code and not in the table.']


def test_a_job_id_that_is_declared_twice_is_told_of_each() -> None:
    declare("a")
    cron_job("0 7 * * *", job_id="a", payload={"url": "/"})(ping)
    declare("b")
    declare("b")
    assert [message for _, message in warned()] == [
        (
            'The cron job "a" that tests.shop.tasks.build_report declares is wrong: '
            "job_id: It is declared by tests.shop.tasks.ping, too."
        ),
        (
            'The cron job "a" that tests.shop.tasks.ping declares is wrong: '
            "job_id: It is declared by tests.shop.tasks.build_report, too."
        ),
        *[
            (
                'The cron job "b" that tests.shop.tasks.build_report declares is wrong: '
                "job_id: It is declared by tests.shop.tasks.build_report, too."
            )
        ]
        * 2,
    ]


def test_with_wrong_settings_no_declaration_is_blamed(settings: Any) -> None:
    declare("fine")
    settings.DYNCRON = {"ENQUEUER": "locl"}
    assert [id_ for id_, _ in warned()] == ["django_dyncron.E006"]


def test_what_nobody_has_synced_is_mentioned_where_the_database_may_be_asked() -> None:
    assert mentioned("default") == []
    declare("a")
    assert mentioned() == []
    words = "declared in code and not in the table."
    assert mentioned("default") == [f'The cron job "a" is {words}']
    declare("b")
    assert mentioned("default") == [f'2 cron jobs, the first of them "a", are {words}']
    call_command("dyncron_sync", verbosity=0)
    assert mentioned("default") == []
    CronJob.objects.filter(job_id="a").update(origin="")
    assert mentioned("default") == []


@pytest.fixture
def empty_database(tmp_path: Path, django_db_blocker: Any) -> Iterator[str]:
    url = f"sqlite:///{tmp_path / 'empty.sqlite3'}"
    with django_db_blocker.unblock(), database_alias("empty", url):
        yield "empty"


def test_before_the_first_migrate_nothing_is_mentioned(settings: Any, empty_database: str) -> None:
    declare("a")
    settings.DYNCRON = {"DATABASE": empty_database}
    assert mentioned(empty_database) == []
    assert mentioned("default") == []
