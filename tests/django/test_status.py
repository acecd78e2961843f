"""``dyncron_status``: its exit codes, what it says to people, and what to programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from django_dyncron import __version__
from django_dyncron.core.tzdata import tzdata_version
from django_dyncron.models import Pause
from tests.django.plain_project import SQLITE, in_a_plain_project
from tests.django.watched_rows import NOON, a_planned_job, a_replica, at_noon

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with at_noon(monkeypatch):
        yield


def status(*arguments: str) -> tuple[int, str]:
    """Return the exit code and what was written."""
    output = StringIO()
    try:
        call_command("dyncron_status", *arguments, stdout=output, no_color=True)
    except SystemExit as ended:
        return int(str(ended.code)), output.getvalue()
    return 0, output.getvalue()


def test_healthy_in_full() -> None:
    a_replica("web-1", 4)
    a_planned_job("hourly", NOON + timedelta(hours=1))
    release = f"{__version__}, tzdata {tzdata_version()}"
    assert status() == (
        0,
        f"""HEALTHY: 1 replica runs, nothing is overdue.

Replicas       web-1  running  seen 4 s ago  ticks every 30 s  {release}
Overdue        0
Undelivered    0
Broken         0
Failing        0
Waiting runs   0
All paused     no
Next slot      2026-11-30 13:00:00Z
Clock skew     +0.0 s
""",
    )


def test_unhealthy_in_full() -> None:
    a_replica("web-1", 200)
    a_replica("web-10", 90_000, stopped_at=NOON - timedelta(hours=25))
    a_planned_job("backup", NOON - timedelta(minutes=12))
    a_planned_job("odd\x1b[31m", None, is_settled=True, planned_in_zone="", last_error="no")
    a_planned_job("sad", NOON + timedelta(hours=1), last_error="boom")
    Pause.objects.create(since=NOON - timedelta(hours=2), reason="deploy", paused_by="ann")
    release = f"{__version__}, tzdata {tzdata_version()}"
    code, output = status()
    assert code == 1
    text = "No scheduler has been heard of for 3 min 20 s (last: web-1, 2026-11-30 11:56:40Z)."
    assert (
        output
        == f"""UNHEALTHY: {text}

Problems
  no_replica         {text}
                     Start "manage.py run_dyncron". If it runs, read its log: ticks fail,
                     or one is stuck.
  overdue            Slots that wait for a scheduler: 1; the oldest, of backup, for 12 min.
                     Read the log of the replicas: look for "tick failed", "tick stuck" and
                     "lock provider". A transaction that was left open may hold the rows.
                     After an outage it takes a while.

Warnings
  jobs_broken        Broken: odd\\x1b[31m.
                     Mend them in the admin: their schedules cannot be worked out.
  everything_paused  Everything is paused since 2026-11-30 10:00:00Z by ann: deploy.
                     Resume in the admin, or by "manage.py dyncron_resume --all".

Replicas       web-1   silent   seen 3 min 20 s ago  ticks every 30 s  {release}
               web-10  stopped  seen 1 d 1 h ago     ticks every 30 s  {release}
Overdue        1, the oldest for 12 min
Undelivered    0
Broken         1: odd\\x1b[31m
Failing        1: sad
Waiting runs   0
All paused     since 2026-11-30 10:00:00Z
Next slot      2026-11-30 11:48:00Z
Clock skew     +0.0 s
"""
    )


def test_json_in_full() -> None:
    a_replica("web-1", 4)
    a_replica("web-2", 400)
    a_planned_job("backup", NOON - timedelta(minutes=12))
    code, output = status("--json", "--max-age", "60")
    assert code == 1
    release = {"version": __version__, "tzdata_version": tzdata_version()}
    assert json.loads(output) == {
        "status": "unhealthy",
        "problems": [
            {
                "code": "overdue",
                "text": "Slots that wait for a scheduler: 1; the oldest, of backup, for 12 min.",
                "remedy": 'Read the log of the replicas: look for "tick failed", "tick stuck" and '
                '"lock provider". A transaction that was left open may hold the rows. '
                "After an outage it takes a while.",
            }
        ],
        "warnings": [
            {
                "code": "replica_silent",
                "text": "Fell silent: web-2; the latest 6 min 40 s ago.",
                "remedy": "Look whether its process is alive; if so, read its log.",
            }
        ],
        "checked_at": "2026-11-30T12:00:00Z",
        "max_age_seconds": 60.0,
        "counts_stop_at": 1000,
        "replicas": {
            "running": 1,
            "silent": 1,
            "stopped": 0,
            "last_sign_of_life_seconds": 4.0,
            "list": [
                {
                    "replica_id": name,
                    "state": state,
                    "age_seconds": age,
                    "started_at": "2026-11-29T12:00:00Z",
                    "seen_at": seen_at,
                    "stopped_at": None,
                    "tick_interval_seconds": 30.0,
                    **release,
                }
                for name, state, age, seen_at in [
                    ("web-1", "running", 4.0, "2026-11-30T11:59:56Z"),
                    ("web-2", "silent", 400.0, "2026-11-30T11:53:20Z"),
                ]
            ],
        },
        "overdue": {
            "count": 1,
            "oldest_seconds": 720.0,
            "oldest_job_id": "backup",
            "oldest_slot": "2026-11-30T11:48:00Z",
        },
        "broken": {"count": 0, "job_ids": []},
        "failing": {"count": 0, "job_ids": []},
        "waiting_runs": {"count": 0},
        "undelivered_runs": {"count": 0, "oldest_seconds": None, "oldest_job_id": None},
        "paused": {"everything": False, "for_seconds": None},
        "next_due_at": "2026-11-30T11:48:00Z",
        "clock_skew_seconds": 0.0,
    }


def test_max_age_decides() -> None:
    a_replica("web-1", 50)
    assert status("--max-age", "51")[0] == 0
    assert status("--max-age", "49.5")[0] == 1
    assert status()[0] == 0


def test_a_container_asks_after_its_own_replica() -> None:
    a_replica("web-1", 4)
    a_replica("web-2", 400)
    a_planned_job("backup", NOON - timedelta(minutes=12))
    code, output = status("--replica-id", "web-1")
    assert (code, output.splitlines()[0]) == (0, "HEALTHY: replica web-1 runs.")
    assert "overdue" in output
    code, output = status("--replica-id", "web-2")
    assert (code, output.splitlines()[0]) == (
        1,
        "UNHEALTHY: Replica web-2 has not been heard of for 6 min 40 s.",
    )
    assert status("--replica-id", "web-3")[0] == 1


# --- misuse ---------------------------------------------------------------------------------------


def test_a_wrong_setting_is_misuse(settings: Any) -> None:
    settings.DYNCRON = {"TICK_INTERVAL": 5}
    with pytest.raises(CommandError, match="TICK_INTERVAL") as raised:
        call_command("dyncron_status")
    assert raised.value.returncode == 2


def test_half_a_character_is_no_replica_id() -> None:
    with pytest.raises(CommandError) as raised:
        status("--replica-id", "web\udcff")
    assert str(raised.value) == r'--replica-id is no text: half a character in "web\udcff".'
    assert raised.value.returncode == 2


def test_an_unknown_database_is_misuse() -> None:
    with pytest.raises(CommandError, match='is "defualt"') as raised:
        call_command("dyncron_status", "--database", "defualt")
    assert raised.value.returncode == 2


@pytest.mark.parametrize("text", ["19", "0", "-5", "nan", "inf", "soon", "1e99"])
def test_a_max_age_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(CommandError, match="argument --max-age"):
        call_command("dyncron_status", f"--max-age={text}")


# --- as a process ---------------------------------------------------------------------------------


def process(path: Path, *arguments: str, databases: str = SQLITE) -> CompletedProcess[str]:
    return in_a_plain_project(path, "dyncron_status", *arguments, databases=databases)


AWAY = (
    '{"default": {"ENGINE": "django.db.backends.postgresql", "HOST": "127.0.0.1", '
    '"PORT": "9", "NAME": "x", "PASSWORD": "s3cret"}}'
)


def test_a_database_without_tables_is_one_line_and_a_1(tmp_path: Path) -> None:
    ended = process(tmp_path)
    assert (ended.returncode, ended.stderr) == (1, "")
    first, second = ended.stdout.splitlines()
    assert first.startswith("UNHEALTHY: Database 'default' lacks tables: ")
    assert second == 'Run "manage.py migrate".'


def test_a_database_that_is_away_is_one_line_and_a_1(tmp_path: Path) -> None:
    ended = process(tmp_path, databases=AWAY)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert ended.stdout.splitlines()[0].startswith("UNHEALTHY: Database 'default' cannot be read: ")
    assert "s3cret" not in ended.stdout
    report = json.loads(process(tmp_path, "--json", databases=AWAY).stdout)
    assert [problem["code"] for problem in report["problems"]] == ["database_away"]


def test_a_wrong_option_exits_with_2(tmp_path: Path) -> None:
    ended = process(tmp_path, "--max-age", "3")
    assert ended.returncode == 2
    assert "'3': use seconds from 20 to 31622400" in ended.stderr
