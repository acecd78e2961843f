"""System checks of jobs declared in code: wrong ones, and those that nobody has synced."""

from __future__ import annotations

from collections.abc import Iterator
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
from tests.shop.tasks import build_report

pytestmark = pytest.mark.django_db

UNSYNCED = "django_dyncron.I001"


@pytest.fixture(autouse=True)
def _nothing_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_jobs", {})


def declare(job_id: str, **values: Any) -> None:
    cron_job("0 6 * * *", job_id=job_id, payload={"day": "today"}, **values)(build_report)


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
