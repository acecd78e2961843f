"""The command: what it writes and when it exits with what."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, OperationalError, connection, transaction

from django_dyncron import cron_job
from django_dyncron.models import CronJob
from django_dyncron.registry import declared_jobs
from django_dyncron.syncing import Choices, SyncRefused, sync_jobs
from tests.databases import database_alias
from tests.django.sync.conftest import Declare, Sync
from tests.shop.tasks import build_report, ping

pytestmark = pytest.mark.django_db


def test_nothing_declared_is_nothing_to_do(sync: Sync) -> None:
    assert sync() == ["0 unchanged."]


@pytest.mark.parametrize("option", ["--dry-run", "--check"])
def test_a_rehearsal_tells_the_same_and_writes_nothing(
    declare: Declare, undeclare: Callable[[str], None], sync: Sync, option: str
) -> None:
    declare("a")
    declare("b")
    sync()
    declare("a", queue="slow")
    undeclare("b")
    declare("c")
    before = list(CronJob.objects.order_by("pk").values())
    lines = sync("--dry-run", "--prune")
    assert lines == [
        'updated   a: queue: "reports" → "slow"',
        "pruned    b",
        "created   c",
        "Nothing is written. 1 created, 1 updated, 1 pruned, 0 unchanged.",
    ]
    if option == "--check":
        with pytest.raises(CommandError, match=r"^The table does not follow the code\.$"):
            sync("--check", "--prune")
    assert list(CronJob.objects.order_by("pk").values()) == before
    assert sync("--prune")[:3] == lines[:3]


def test_a_check_passes_only_if_nothing_is_to_do_and_nothing_is_left(
    declare: Declare, sync: Sync
) -> None:
    declare()
    sync()
    sync("--check")
    CronJob.objects.update(queue="by-hand")
    with pytest.raises(CommandError):
        sync("--check")
    CronJob.objects.update(origin="", queue="reports")
    with pytest.raises(CommandError):
        sync("--check")


def test_an_edited_row_is_no_reason_for_a_deploy_to_fail(declare: Declare, sync: Sync) -> None:
    declare()
    sync()
    CronJob.objects.update(queue="by-hand")
    assert sync()[-1] == "1 in conflict, 0 unchanged."


def test_json_tells_the_same(declare: Declare, sync: Sync) -> None:
    declare("a", starts_at="2026-11-30T12:00Z")
    sync()
    declare("a", queue="slow", payload={"day": "now", "full": True}, starts_at="2026-12-01T12:00Z")
    declare("b")
    CronJob.objects.create(job_id="b", task_name="a.b", cron_expression="@daily")
    assert json.loads("\n".join(sync("--json", "--dry-run"))) == {
        "source": "tests",
        "dry_run": True,
        "in_sync": False,
        "counts": {
            "created": 0,
            "updated": 1,
            "adopted": 0,
            "returned": 0,
            "conflict": 0,
            "taken": 1,
            "paused": 0,
            "vanished": 0,
            "pruned": 0,
            "unchanged": 0,
        },
        "jobs": [
            {
                "job_id": "a",
                "action": "updated",
                "fields": {
                    "payload": {"added": ["full"], "changed": ["day"], "removed": []},
                    "queue": {"old": "reports", "new": "slow"},
                    "starts_at": {
                        "old": "2026-11-30T12:00:00+00:00",
                        "new": "2026-12-01T12:00:00+00:00",
                    },
                },
                "note": "",
            },
            {"job_id": "b", "action": "taken", "fields": {}, "note": "the row is made by hand"},
        ],
    }


def test_every_mistake_is_told_at_once_and_nothing_is_done(declare: Declare, sync: Sync) -> None:
    declare("fine")
    declare("queue", enqueuer="rabbit", max_catch_up=0)
    declare("naive", starts_at=datetime(2026, 11, 30, 12), ends_at="2026-12-01")  # noqa: DTZ001
    declare("order", starts_at="2026-12-02T00:00Z", ends_at="2026-12-01T00:00Z")
    declare("set", options={"tags": {1}})
    declare(" spaced", queue="a\nb")
    declare("nothing", description=None, time_zone=None, catch_up_window_seconds=None)
    declare("shape", "61 6 * * *", payload=[1], description="half \udcff")
    cron_job("0 7 * * *", job_id="fine", payload={"url": "/"})(ping)
    cron_job(6, job_id=7, payload={"day": "today"})(build_report)  # type: ignore[arg-type]
    with pytest.raises(CommandError) as caught:
        sync()
    task = "tests.shop.tasks.build_report, cron job"
    assert sorted(str(caught.value).splitlines()) == sorted(
        [
            f'{task} "queue": max_catch_up: Ensure this value is greater than or equal to 1.',
            f'{task} "queue": enqueuer: There is no such name among ENQUEUERS: use one of default.',
            (
                f'{task} "naive": starts_at: 2026-11-30 12:00:00 has no time zone: '
                "pass an aware datetime."
            ),
            (
                f'{task} "naive": ends_at: 2026-12-01 00:00:00 has no time zone: '
                "pass an aware datetime."
            ),
            f'{task} "order": ends_at: This must be later than “not before”.',
            f'{task} "nothing": description: This field cannot be null.',
            f'{task} "nothing": time_zone: This field cannot be null.',
            f'{task} "set": options: Value must be valid JSON.',
            f"{task} \"shape\": cron_expression: Minute '61': use 0–59",
            f'{task} "shape": payload: The payload must be a JSON object such as {{"user_id": 7}}.',
            (
                f'{task} "shape": description: There is a NUL or half a character in it; no '
                "database keeps that."
            ),
            f'{task} "fine": job_id: It is declared by tests.shop.tasks.ping, too.',
            (
                'tests.shop.tasks.ping, cron job "fine": job_id: It is declared by '
                "tests.shop.tasks.build_report, too."
            ),
            f'{task} "7": job_id: This must be a text, not int.',
            f'{task} "7": cron_expression: This must be a text, not int.',
            f'{task} "set": options: The options hold what JSON cannot.',
            (
                f'{task} " spaced": job_id: There are spaces around it, or characters in it that '
                "nobody can see."
            ),
            (
                f'{task} " spaced": queue: There are spaces around it, or characters in it that '
                "nobody can see."
            ),
        ]
    )
    assert not CronJob.objects.exists()


@pytest.mark.parametrize("option", ["--adopt", "--take-code"])
def test_a_name_that_is_not_declared_is_refused(declare: Declare, sync: Sync, option: str) -> None:
    declare("report")
    with pytest.raises(CommandError) as caught:
        sync(option, "reprot", "report", "xyz")
    assert str(caught.value).splitlines() == [
        'No cron job "reprot" is declared in code. Did you mean "report"?',
        'No cron job "xyz" is declared in code.',
    ]
    assert not CronJob.objects.exists()


@pytest.mark.parametrize(
    "dyncron, words",
    [
        ({"DATABASE": "elsewhere"}, 'DYNCRON["DATABASE"] is "elsewhere"'),
        ({"ENQUEUER": "locl"}, "DYNCRON[\"ENQUEUER\"] is 'locl'"),
        ({"TICK": 5}, 'DYNCRON["TICK"] is not a setting.'),
    ],
)
def test_a_wrong_setting_is_told_once(
    declare: Declare, sync: Sync, settings: Any, dyncron: dict[str, Any], words: str
) -> None:
    declare("a")
    declare("b")
    settings.DYNCRON = dyncron
    with pytest.raises(CommandError) as caught:
        sync()
    assert str(caught.value).startswith(words)
    assert len(str(caught.value).splitlines()) == 1


def test_a_source_with_half_a_character_is_refused(declare: Declare, sync: Sync) -> None:
    declare("a")
    with pytest.raises(CommandError, match=r"^--source is no text: half a character in .*udcff"):
        sync("--source", "shop\udcff")
    assert not CronJob.objects.exists()


def test_half_of_it_is_nothing(
    declare: Declare, sync: Sync, monkeypatch: pytest.MonkeyPatch
) -> None:
    for job_id in ("a", "b", "c"):
        declare(job_id)
    saved = CronJob.save

    def save(self: CronJob, **options: Any) -> None:
        if self.job_id == "c":
            raise OperationalError("deadlock detected")
        saved(self, **options)

    monkeypatch.setattr(CronJob, "save", save)
    monkeypatch.setattr("django_dyncron.syncing.writing._PAUSE_SECONDS", 0)
    with pytest.raises(CommandError, match=r"^The database refused it: deadlock detected$"):
        sync()
    assert not CronJob.objects.exists()


def test_what_the_database_quotes_of_a_row_is_not_told(
    declare: Declare, sync: Sync, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare("a")

    def save(self: CronJob, **options: Any) -> None:
        raise IntegrityError("violates a constraint\nDETAIL:  Failing row contains (s3cret).")

    monkeypatch.setattr(CronJob, "save", save)
    monkeypatch.setattr("django_dyncron.syncing.writing._PAUSE_SECONDS", 0)
    with pytest.raises(CommandError, match=r"^The database refused it: violates a constraint$"):
        sync()


def test_a_deadlock_is_tried_again(
    declare: Declare, sync: Sync, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare("a")
    saved = CronJob.save
    tries: list[str] = []

    def save(self: CronJob, **options: Any) -> None:
        tries.append(self.job_id)
        if len(tries) < 3:
            raise OperationalError("deadlock detected")
        saved(self, **options)

    monkeypatch.setattr(CronJob, "save", save)
    monkeypatch.setattr("django_dyncron.syncing.writing._PAUSE_SECONDS", 0)
    assert sync() == ["created   a", "1 created, 0 unchanged."]
    assert tries == ["a", "a", "a"]


def test_a_row_that_cannot_be_read_is_told_of(declare: Declare, sync: Sync) -> None:
    declare("a")
    sync()
    unreadable = {
        "postgresql": "created_at = 'infinity'",
        "sqlite": "description = CAST(x'ff' AS TEXT)",
    }
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE django_dyncron_cronjob SET {unreadable[connection.vendor]}")
    with pytest.raises(CommandError, match="A row of the table of cron jobs cannot be read: "):
        sync()


def test_a_job_id_cannot_write_to_the_terminal(declare: Declare, sync: Sync) -> None:
    declare("a")
    sync()
    CronJob.objects.update(job_id="\x1b[31mred")
    assert sync()[0] == "vanished  \\x1b[31mred: it still runs"


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_terminal_without_arrows_is_no_failure(
    declare: Declare, sync: Sync, options: list[str]
) -> None:
    declare("größe")
    sync()
    declare("größe", queue="slow")
    output = TextIOWrapper(BytesIO(), "latin-1")
    call_command("dyncron_sync", *options, stdout=output, no_color=True)
    output.seek(0)
    text = output.read()
    if options:
        assert json.loads(text)["jobs"][0]["job_id"] == "größe"
    else:
        assert text.splitlines()[0] == r'updated   größe: queue: "reports" \u2192 "slow"'


@pytest.mark.parametrize("by_option", [True, False])
def test_it_works_in_the_scheduler_s_database(
    declare: Declare, sync: Sync, settings: Any, other_database: str, by_option: bool
) -> None:
    declare("a")
    if not by_option:
        settings.DYNCRON = {"DATABASE": other_database}
    sync(*(["--database", other_database] if by_option else []))
    assert not CronJob.objects.using("default").exists()
    assert CronJob.objects.using(other_database).get().job_id == "a"


def test_it_may_be_part_of_a_larger_transaction(declare: Declare) -> None:
    declare("a")
    with transaction.atomic():
        report = sync_jobs(declared_jobs(), Choices("shop"), using="default")
        transaction.set_rollback(True)
    assert report.changes == 1
    assert not CronJob.objects.exists()
    with pytest.raises(SyncRefused):
        sync_jobs(declared_jobs(), Choices("shop", adopt=["b"]), using="default")


def test_missing_tables_are_told_in_one_line(
    declare: Declare,
    sync: Sync,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    django_db_blocker: Any,
) -> None:
    declare("a")
    monkeypatch.setattr("django_dyncron.syncing.writing._PAUSE_SECONDS", 0)
    url = f"sqlite:///{tmp_path / 'empty.sqlite3'}"
    with django_db_blocker.unblock(), database_alias("empty", url):
        for option in ([], ["--dry-run"]):
            with pytest.raises(CommandError) as caught:
                sync("--database", "empty", *option)
            assert "django_dyncron_cron" in str(caught.value)
            assert len(str(caught.value).splitlines()) == 1
