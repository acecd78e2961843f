"""Replicas that are suspended: status and view notice in time, and no slot is run twice."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from django_dyncron.health import Health, ReplicaState, max_age, read_health
from django_dyncron.models import Replica
from tests.integration.cluster import Cluster, Process, stopwatch, wait_until

pytestmark = pytest.mark.urls("tests.django.health_urls")

QUICK = ("--tick-interval", "0.1")
MAX_AGE = 3.0


@pytest.fixture
def cluster(postgres_cluster: Cluster, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A cluster whose database is also this process's, where a sign of life ages quickly."""
    settings.DYNCRON = {"DATABASE": postgres_cluster.alias}
    monkeypatch.setattr(max_age, "SHORTEST_MAX_AGE", timedelta(seconds=1))
    return postgres_cluster


def start(cluster: Cluster, name: str, *options: str) -> Process:
    """Start a replica that gives a sign of life each half second."""
    command = ("-m", "tests.integration.lively", "0.5", "run_dyncron", "--replica-id", name)
    return cluster.start_other(name, *command, *QUICK, *options)


def health(cluster: Cluster) -> Health:
    return read_health(cluster.alias, timedelta(seconds=MAX_AGE))


def answers(cluster: Cluster) -> tuple[int, int]:
    """Return the exit code of the command and the status code of the view."""
    options: dict[str, Any] = {"database": cluster.alias, "stdout": StringIO()}
    try:
        call_command("dyncron_status", f"--max-age={MAX_AGE}", **options)
        code = 0
    except SystemExit as ended:
        code = int(str(ended.code))
    return code, Client().get(f"/cron/health/?max_age={MAX_AGE}").status_code


def test_a_suspended_replica_is_noticed_in_time_and_runs_every_slot_once(cluster: Cluster) -> None:
    due = cluster.add_missed(["before"], 3)
    replica = start(cluster, "web-1")
    cluster.wait_for_enqueued(3)
    wait_until(lambda: answers(cluster) == (0, 200), 10, lambda: replica.output)

    replica.send(signal.SIGSTOP)
    with stopwatch() as seconds:
        due |= cluster.add_missed(["meanwhile"], 3)
        wait_until(lambda: answers(cluster) == (1, 503), MAX_AGE + 1)
        assert seconds() < MAX_AGE + 1
    assert [problem.code for problem in health(cluster).problems] == ["no_replica"]

    replica.send(signal.SIGCONT)
    wait_until(lambda: answers(cluster) == (0, 200), 5, lambda: replica.output)
    cluster.wait_for_enqueued(6)
    assert replica.stop() == 0
    assert sorted(cluster.enqueued()) == sorted(due)
    assert "stuck" not in replica.output
    # The last word is heard at once.
    assert answers(cluster) == (1, 503)


def test_one_of_two_that_is_suspended_is_worth_a_warning(cluster: Cluster) -> None:
    due = cluster.add_missed(["a", "b"], 3)
    suspended, other = start(cluster, "web-1"), start(cluster, "web-2")
    wait_until(lambda: len(health(cluster).replicas_in(ReplicaState.RUNNING)) == 2, 10)

    suspended.send(signal.SIGSTOP)
    wait_until(lambda: health(cluster).warnings, MAX_AGE + 2)
    found = health(cluster)
    assert found.is_healthy
    assert [warning.code for warning in found.warnings] == ["replica_silent"]
    assert answers(cluster) == (0, 200)
    one = read_health(cluster.alias, timedelta(seconds=MAX_AGE), "web-1")
    assert [problem.code for problem in one.problems] == ["replica_silent"]

    suspended.send(signal.SIGCONT)
    wait_until(lambda: not health(cluster).warnings, 5)
    assert (suspended.stop(), other.stop()) == (0, 0)
    assert sorted(cluster.enqueued()) == sorted(due)


def test_a_replica_whose_ticks_all_fail_is_noticed_too(cluster: Cluster) -> None:
    replica = start(cluster, "web-1")
    wait_until(lambda: health(cluster).is_healthy, 10, lambda: replica.output)
    # It could look ahead and give signs of life, but not claim what is due.
    cluster.sql("ALTER TABLE django_dyncron_pause RENAME TO mislaid")
    cluster.add_missed(["a"], 1)
    wait_until(lambda: "tick failed" in replica.output, 10)
    rows = Replica.objects.using(cluster.alias)
    seen_at = rows.get().seen_at
    time.sleep(MAX_AGE)
    assert rows.get().seen_at == seen_at

    cluster.sql("ALTER TABLE mislaid RENAME TO django_dyncron_pause")
    wait_until(lambda: health(cluster).is_healthy, 20, lambda: replica.output)
    assert rows.get().seen_at > seen_at
    assert replica.stop() == 0


# --- systemd --------------------------------------------------------------------------------------


def test_a_unit_is_told_when_it_runs_that_it_lives_and_when_it_stops(cluster: Cluster) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(cluster.directory / "notify"))
        manager.settimeout(10)
        cluster.environment |= {
            "NOTIFY_SOCKET": str(cluster.directory / "notify"),
            "WATCHDOG_USEC": "1000000",
        }
        # An interval far beyond what systemd allows: the thread beside the loop speaks for it.
        replica = cluster.start_one("--tick-interval", "300")
        heard: list[str] = []
        with stopwatch() as seconds:
            while seconds() < 2 or not any("READY=1" in each for each in heard):
                heard += manager.recv(4096).decode().split("\n")
        assert heard.count("READY=1") == 1
        assert heard.count("WATCHDOG=1") >= 3

        replica.send(signal.SIGSTOP)
        manager.settimeout(1)
        with pytest.raises(TimeoutError):
            _read_on(manager)
        replica.send(signal.SIGCONT)
        manager.settimeout(10)
        assert "WATCHDOG=1" in manager.recv(4096).decode()

        replica.send(signal.SIGTERM)
        while "STOPPING=1" not in heard:
            heard += manager.recv(4096).decode().split("\n")
        assert replica.exit_code() == 0
        assert heard.count("STOPPING=1") == 1


def _read_on(manager: socket.socket) -> None:
    while True:
        manager.recv(4096)


# --- in real time ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_with_twenty_seconds_nobody_cries_wolf_and_nobody_sleeps_through(
    postgres_cluster: Cluster,
) -> None:
    """The real command, the real pace, and a tick interval beyond the age that is asked for."""
    cluster = postgres_cluster
    replica = cluster.start_one("--tick-interval", "60")
    with stopwatch() as seconds:
        while seconds() < 45:
            assert _status(cluster) == (0, "healthy")
    replica.send(signal.SIGSTOP)
    with stopwatch() as seconds:
        while _status(cluster) == (0, "healthy"):
            assert seconds() < 22
    replica.send(signal.SIGCONT)
    with stopwatch() as seconds:
        while _status(cluster) != (0, "healthy"):
            assert seconds() < 5
    assert replica.stop() == 0
    assert "stuck" not in replica.output


def _status(cluster: Cluster) -> tuple[int, str]:
    ended = subprocess.run(
        [sys.executable, "-m", "django", "dyncron_status", "--json", "--max-age", "20"],
        check=False,
        env=cluster.environment | {"DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert ended.stdout, ended.stderr
    return ended.returncode, json.loads(ended.stdout)["status"]
