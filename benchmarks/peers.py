"""What an idle pass and a burst cost in other schedulers, over 10,000 jobs on the same servers.

Run it with ``python -m benchmarks.peers``; ``--jobs`` sets another number, ``--only NAME`` picks
one. Each peer runs in a process of its own, time standing still, on a database of its own. What
it sends to a task queue is left out wherever it can be, so that schedulers are compared and not
queues. Peers live in the environment ``.venv-peers``, made here: one of them caps Django.

An idle pass is one turn of the peer's own loop with nothing due. A burst is as many turns as it
needs until all jobs, due at one minute, are handed over; one that takes longer than 15 seconds is
given up and extrapolated, marked with a tilde.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks._stage import Stage, set_stage
from benchmarks._tables import print_machine, print_table

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "benchmarks" / "peer" / "requirements.txt"
ENVIRONMENT = ROOT / ".venv-peers"
JOBS = 10_000
TIMEOUT_SECONDS = 150

HERE = {
    "floor": "psycopg, set by set",
    "ours": "django-dyncron",
    "read_everything": "read everything and match",
}
THERE = {
    "celery_beat": "django-celery-beat",
    "redbeat": "RedBeat",
    "apscheduler": "APScheduler 3",
    "django_q2": "django-q2",
    "procrastinate": "Procrastinate",
}


def python_of_peers() -> str:
    """Return the interpreter of the peers' environment, having made it if it is not there yet."""
    python = ENVIRONMENT / "bin" / "python"
    stamp = ENVIRONMENT / ".installed"
    if not stamp.exists() or stamp.stat().st_mtime < REQUIREMENTS.stat().st_mtime:
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
        install = ["-m", "pip", "install", "--quiet", "--requirement", str(REQUIREMENTS)]
        subprocess.run([str(python), *install], check=True)
        stamp.touch()
    return str(python)


def measure(stage: Stage, name: str, jobs: int, python: str) -> dict[str, Any]:
    """Return what a peer reports of itself; if it fails, only why."""
    database = stage.postgres.create_database(f"dyncron_peer_{name}")
    command = [python, "-m", f"benchmarks.peer.{name}", "--jobs", str(jobs)]
    try:
        done = subprocess.run(
            [*command, "--database", database, "--redis", stage.redis_url],
            check=False,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return {"note": f"gave no answer within {TIMEOUT_SECONDS} s"}
    finally:
        stage.postgres.drop_database(f"dyncron_peer_{name}")
    if done.returncode:
        return {"note": "failed: " + done.stderr.strip().splitlines()[-1]}
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


def row(title: str, report: dict[str, Any], ours: dict[str, Any], jobs: int) -> list[str]:
    if "idle" not in report:
        return [title, "-", "", "-", "", f"  {report['note']}"]
    seconds = _seconds(report, jobs)
    mark = "" if report["done"] >= jobs else "~"
    return [
        title,
        f"{report['idle']:.2f}",
        f"{report['idle'] / ours['idle']:.1f}x",
        f"{mark}{seconds:.1f}",
        f"{seconds / _seconds(ours, jobs):.1f}x",
        f"  {report['note']}",
    ]


def _seconds(report: dict[str, Any], jobs: int) -> float:
    """Return the seconds of the burst, extrapolated if it was given up."""
    return float(report["seconds"] * max(jobs / max(report["done"], 1), 1.0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--only", choices=[*HERE, *THERE])
    options = parser.parse_args()
    environments = dict.fromkeys(HERE, sys.executable) | dict.fromkeys(THERE, python_of_peers())
    chosen = dict.fromkeys(["ours", options.only]) if options.only else environments
    with set_stage() as stage:
        print_machine()
        reports = {name: measure(stage, name, options.jobs, environments[name]) for name in chosen}
    titles = HERE | THERE
    print_table(
        f"{options.jobs:,} jobs: an idle pass in milliseconds, a burst in seconds",
        ["idle", "to ours", "burst", "to ours", "  note"],
        [
            row(titles[name], report, reports["ours"], options.jobs)
            for name, report in reports.items()
        ],
    )


if __name__ == "__main__":
    main()
