"""The sample project shows everything with nothing to set up, and ends by itself."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

MANAGE = Path(__file__).resolve().parents[2] / "testproject" / "manage.py"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DJANGO_SETTINGS_MODULE", "DATABASE_URL", "REDIS_URL", "DEBUG", "TIME_ZONE")
    }
    return inherited | {"VAR_DIR": str(tmp_path / "var"), "PYTHONUNBUFFERED": "1"}


def demo(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return manage("demo", *arguments, **options)


def manage(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", str(MANAGE), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )


def test_once_runs_what_is_due_and_ends(environment: dict[str, str], tmp_path: Path) -> None:
    first = demo("--once", env=environment)

    assert first.returncode == 0, first.stderr
    (slot,) = re.findall(r"samples.tasks.write_run_report +(.+?) +succeeded", first.stdout)
    (report,) = (tmp_path / "var" / "reports").iterdir()
    assert "report-runs" in report.read_text()

    synced = manage("dyncron_sync", "--check", env=environment)
    assert synced.stdout == "Nothing is written. 3 unchanged.\n"

    second = demo("--once", env=environment)

    assert second.returncode == 0, second.stderr
    assert f"write_run_report   {slot}" not in second.stdout


def test_it_refuses_to_make_an_administrator_without_debug(environment: dict[str, str]) -> None:
    refused = demo("--once", env=environment | {"DEBUG": "0", "SECRET_KEY": "x"})

    assert refused.returncode == 1
    assert "DEBUG off" in refused.stderr


@pytest.fixture
def server(environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, str(MANAGE), "demo", "--port", "0", "--seconds", "40"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


def read_until(process: subprocess.Popen[str], pattern: str) -> str:
    """Return the first line of the output that ``pattern`` is found in."""
    assert process.stdout is not None
    for line in process.stdout:
        if re.search(pattern, line):
            return line
    raise AssertionError(f"{pattern!r} never came: {process.communicate()[1]}")


def test_it_serves_the_admin_beside_the_scheduler_and_stops_on_sigterm(
    server: subprocess.Popen[str],
) -> None:
    admin = read_until(server, "^Admin").split()[-1]
    _, _, username, _, password = read_until(server, "^Log in").split()
    assert "samples.tasks.write_run_report" in read_until(server, "succeeded")

    browser = build_opener(HTTPCookieProcessor(CookieJar()))
    login = browser.open(f"{admin}login/", timeout=10).read().decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', login)
    assert token is not None
    form = {"csrfmiddlewaretoken": token[1], "next": "/admin/"}
    form |= {"username": username, "password": password}
    browser.open(f"{admin}login/", urlencode(form).encode(), timeout=10)
    jobs = browser.open(f"{admin}django_dyncron/cronjob/", timeout=10).read().decode()
    assert "prune-sessions" in jobs
    assert "At 03:30 every day" in jobs
    (style,) = re.findall(r'href="(/static/django_dyncron/[^"]+)"', jobs)
    site = admin.removesuffix("/admin/")
    assert browser.open(site + style, timeout=10).status == 200
    assert browser.open(f"{site}/ping/", timeout=10).read() == b"pong\n"

    server.terminate()
    assert "Stopped." in server.communicate(timeout=15)[0]
    assert server.returncode == 0


def test_it_takes_a_free_port_if_the_wanted_one_is_taken(environment: dict[str, str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        shown = demo("--port", str(port), "--seconds", "1", env=environment)

    assert shown.returncode == 0
    assert f"Port {port} is taken, so another one is used." in shown.stdout
    assert f"127.0.0.1:{port}/" not in shown.stdout
