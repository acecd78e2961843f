"""``run_dyncron``: its options, its exit codes, and what it says of wrong settings."""

from __future__ import annotations

import logging
import socket
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from django_dyncron.core.claims import Horizon
from django_dyncron.core.events import SignOfLife, TickFailed, TickResult
from django_dyncron.core.exceptions import StoreUnavailable
from django_dyncron.management import heartbeat_file
from django_dyncron.management.heartbeat_file import HeartbeatFile
from django_dyncron.models import CronJob, CronRun, Replica
from django_dyncron.repositories.orm import DjangoCronJobRepository
from tests.django.plain_project import in_a_plain_project

pytestmark = pytest.mark.django_db(transaction=True)

QUICK = ("--tick-interval", "0.01")
THIS_MINUTE = datetime.now(UTC).replace(second=0, microsecond=0)


@pytest.fixture(autouse=True)
def dyncron(settings: Any) -> dict[str, Any]:
    dyncron: dict[str, Any] = {"ALLOWED_TASKS": ["tests.shop.tasks.restock"]}
    settings.DYNCRON = dyncron
    return dyncron


def add_missed(slots: int = 1, **values: Any) -> None:
    CronJob.objects.create(
        **{
            "job_id": "restock",
            "task_name": "tests.shop.tasks.restock",
            "cron_expression": "* * * * *",
            "plan_from": THIS_MINUTE - timedelta(minutes=slots),
            "ends_at": THIS_MINUTE,
            **values,
        }
    )


def ticks(caplog: pytest.LogCaptureFixture) -> int:
    return [getattr(record, "action", "") for record in caplog.records].count("tick")


def test_once_ticks_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "django_dyncron")
    add_missed()
    call_command("run_dyncron", "--once")
    assert ticks(caplog) == 1
    run = CronRun.objects.get()
    assert (run.status, run.scheduled_for) == ("succeeded", THIS_MINUTE)


def test_it_ends_after_max_ticks(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "django_dyncron")
    call_command("run_dyncron", "--max-ticks", "3", *QUICK)
    assert ticks(caplog) == 3


def test_local_tasks_are_waited_for() -> None:
    add_missed()
    call_command("run_dyncron", "--max-ticks", "2", *QUICK)
    run = CronRun.objects.get()
    assert (run.status, run.error, run.scheduled_for) == ("succeeded", "", THIS_MINUTE)


def test_a_failed_task_is_no_failure_of_the_command() -> None:
    add_missed(payload={"colour": "red"})
    call_command("run_dyncron", "--max-ticks", "2", *QUICK)
    assert CronRun.objects.get().status == "failed"
    assert "colour" in CronJob.objects.get().last_error


def test_the_heartbeat_file_is_made_by_a_tick(tmp_path: Path) -> None:
    file = tmp_path / "heartbeat"
    call_command("run_dyncron", "--once", "--heartbeat-file", str(file))
    assert file.exists()


def test_the_heartbeat_file_is_touched_while_ticks_fail_but_not_before_one_went_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(heartbeat_file, "monotonic", lambda: now)
    path = tmp_path / "heartbeat"
    file = HeartbeatFile(path)
    file.keep_alive()
    file(TickFailed(StoreUnavailable("The database is away."), timedelta(seconds=1)))
    assert not path.exists()
    # A first tick that works off a long backlog gives signs of life before it ends.
    file(SignOfLife(THIS_MINUTE))
    path.unlink()
    now = 109.0
    file(TickFailed(StoreUnavailable("The database is away."), timedelta(seconds=1)))
    file.keep_alive()
    assert not path.exists()
    now = 110.0
    file.keep_alive()
    assert path.exists()
    path.unlink()
    file(TickResult(THIS_MINUTE))
    assert path.exists()


def test_the_heartbeat_file_of_an_earlier_process_is_not_taken_for_ours(tmp_path: Path) -> None:
    path = tmp_path / "heartbeat"
    path.touch()
    HeartbeatFile(path)
    assert not path.exists()


def test_a_heartbeat_file_that_cannot_be_touched_is_told_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    file = HeartbeatFile(folder / "heartbeat")
    file(TickResult(THIS_MINUTE))
    (folder / "heartbeat").unlink()
    folder.rmdir()
    for _ in range(3):
        file(TickResult(THIS_MINUTE))
    (record,) = caplog.records
    assert getattr(record, "action", "") == "heartbeat_failed"
    folder.mkdir()
    file(TickResult(THIS_MINUTE))
    assert (folder / "heartbeat").exists()


def test_a_heartbeat_file_that_is_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"^--heartbeat-file: "):
        call_command("run_dyncron", "--once", "--heartbeat-file", str(tmp_path))


def test_a_heartbeat_file_in_no_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="--heartbeat-file: there is no directory"):
        call_command("run_dyncron", "--once", "--heartbeat-file", str(tmp_path / "no" / "file"))


# --- metrics --------------------------------------------------------------------------------------


def test_metrics_are_served_as_long_as_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Any] = []
    calls: list[Any] = []

    class Server:
        def __call__(self, event: Any) -> None:
            events.append(type(event).__name__)

        def close(self) -> None:
            calls.append("closed")

    def serve_metrics(*arguments: Any) -> Server:
        calls.append(arguments)
        return Server()

    monkeypatch.setattr("django_dyncron.metrics.serve_metrics", serve_metrics)
    call_command("run_dyncron", "--once", "--metrics-port", "0", "--metrics-host", "127.0.0.2")
    assert calls == [("127.0.0.2", 0, "default"), "closed"]
    assert "TickResult" in events


def test_metrics_without_the_client_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name.startswith("django_dyncron.metrics"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(CommandError, match=r'pip install "django-dyncron\[prometheus\]"$'):
        call_command("run_dyncron", "--once", "--metrics-port", "0")


def test_a_port_in_use_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CommandError, match=f"cannot listen on 127.0.0.1:{port}"):
            call_command("run_dyncron", "--once", "--metrics-port", str(port))


# --- ticks that fail ------------------------------------------------------------------------------


class AwayRepository(DjangoCronJobRepository):
    async def look_ahead(self, at: datetime | None) -> Horizon:
        raise StoreUnavailable("The database is away.")


def test_a_tick_that_fails_is_no_heartbeat_and_fails_once(
    dyncron: dict[str, Any], tmp_path: Path
) -> None:
    dyncron["REPOSITORY"] = f"{__name__}.AwayRepository"
    file = tmp_path / "heartbeat"
    with pytest.raises(CommandError, match=r"^The last tick failed: The database is away\.$"):
        call_command("run_dyncron", "--once", "--heartbeat-file", str(file))
    assert not file.exists()


def test_ticks_that_fail_count_too(
    dyncron: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    dyncron["REPOSITORY"] = f"{__name__}.AwayRepository"
    with pytest.raises(CommandError, match=r"^The last tick failed: The database is away\.$"):
        call_command("run_dyncron", "--max-ticks", "2")
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]


class ReturningRepository(DjangoCronJobRepository):
    """Away for the first tick of its life."""

    was_asked = False

    async def look_ahead(self, at: datetime | None) -> Horizon:
        if not self.was_asked:
            self.was_asked = True
            raise StoreUnavailable("The database is away.")
        return await super().look_ahead(at)


def test_a_failure_that_was_overcome_is_forgotten(dyncron: dict[str, Any]) -> None:
    dyncron["REPOSITORY"] = f"{__name__}.ReturningRepository"
    add_missed()
    call_command("run_dyncron", "--max-ticks", "3", *QUICK)
    assert CronRun.objects.get().status == "succeeded"


def test_missing_tables_are_named_with_their_remedy(tmp_path: Path) -> None:
    ended = in_a_plain_project(tmp_path, "run_dyncron", "--once")
    assert ended.returncode == 1
    assert "manage.py migrate" in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr.splitlines()[-1]


def test_the_replica_is_known_by_its_name_and_leaves_word() -> None:
    call_command("run_dyncron", "--once", "--replica-id", "web-1", "--tick-interval", "7")
    replica = Replica.objects.get()
    assert (replica.replica_id, replica.tick_interval_seconds) == ("web-1", 7.0)
    assert replica.stopped_at is not None


def test_a_replica_that_comes_back_under_its_name_starts_anew() -> None:
    long_ago = datetime(2026, 1, 1, tzinfo=UTC)
    Replica.objects.create(
        replica_id="web-1", started_at=long_ago, seen_at=long_ago, tick_interval_seconds=30
    )
    call_command("run_dyncron", "--once", "--replica-id", "web-1")
    assert Replica.objects.get().started_at > datetime.now(UTC) - timedelta(minutes=5)


def test_replicas_without_a_name_are_told_apart() -> None:
    call_command("run_dyncron", "--once")
    call_command("run_dyncron", "--once")
    assert Replica.objects.count() == 2


def test_options_come_before_settings(dyncron: dict[str, Any]) -> None:
    dyncron |= {
        "LOCK_PROVIDER": "no such lock",
        "ENQUEUER": "no such queue",
        "DATABASE": "no such database",
        "TICK_INTERVAL_SECONDS": 900,
    }
    add_missed()
    call_command(
        "run_dyncron",
        *("--lock-provider", "none", "--enqueuer", "local", "--database", "default"),
        *("--max-ticks", "2", *QUICK),
    )
    assert CronRun.objects.get().status == "succeeded"


@pytest.mark.parametrize(
    "dyncron_settings, message",
    [
        ({"TICK_INTERVAL": 5}, 'DYNCRON["TICK_INTERVAL"] is not a setting.'),
        ({"TICK_INTERVAL_SECONDS": 0}, 'DYNCRON["TICK_INTERVAL_SECONDS"] is 0'),
        ({"LOCK_PROVIDER": "rediss"}, "DYNCRON[\"LOCK_PROVIDER\"] is 'rediss'"),
        (
            {"LOCK_PROVIDER": {"BACKEND": "redis", "OPTIONS": {"ur": "redis://x"}}},
            'DYNCRON["LOCK_PROVIDER"]',
        ),
        ({"ENQUEUER": "celry"}, "DYNCRON[\"ENQUEUER\"] is 'celry'"),
        ({"ENQUEUERS": {"mail": "shop.Mail"}}, 'DYNCRON["ENQUEUERS"]["mail"] is'),
        ({"DATABASE": "defualt"}, 'DYNCRON["DATABASE"] is "defualt"'),
        ({"REPOSITORY": "shop.Jobs"}, 'DYNCRON["REPOSITORY"] is'),
        ({"TIME_ZONE": "Mars/Olympus"}, 'DYNCRON["TIME_ZONE"] is'),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_wrong_setting_is_named(
    settings: Any, dyncron_settings: dict[str, Any], message: str
) -> None:
    settings.DYNCRON = dyncron_settings
    with pytest.raises(CommandError) as raised:
        call_command("run_dyncron", "--once")
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    "option, value, message",
    [
        ("--lock-provider", "rediss", "DYNCRON[\"LOCK_PROVIDER\"] is 'rediss'"),
        ("--enqueuer", "celry", "DYNCRON[\"ENQUEUER\"] is 'celry'"),
        ("--database", "other", 'DYNCRON["DATABASE"] is "other"'),
        ("--tick-interval", "-1", 'DYNCRON["TICK_INTERVAL_SECONDS"] is -1.0'),
        ("--max-ticks", "0", "Error: argument --max-ticks: '0': use 1 or more"),
        ("--max-ticks", "many", "Error: argument --max-ticks: 'many': use 1 or more"),
        ("--metrics-port", "65536", "Error: argument --metrics-port: '65536': use 0 to 65535"),
        ("--metrics-port", "http", "Error: argument --metrics-port: 'http': use 0 to 65535"),
        ("--replica-id", "w" * 256, "Error: argument --replica-id: use 1 to 255 printable"),
        ("--replica-id", "web\udcff", "Error: argument --replica-id: use 1 to 255 printable"),
    ],
)
def test_a_wrong_option_is_named(option: str, value: str, message: str) -> None:
    with pytest.raises(CommandError) as raised:
        call_command("run_dyncron", "--once", f"{option}={value}")
    assert str(raised.value).startswith(message)


def test_a_plain_project_runs_without_a_single_warning(tmp_path: Path) -> None:
    for arguments in (["migrate", "--verbosity=0"], ["run_dyncron", "--once"]):
        ended = in_a_plain_project(tmp_path, *arguments)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
