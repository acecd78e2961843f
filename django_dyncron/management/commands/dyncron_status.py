"""``manage.py dyncron_status``: whether cron jobs are looked after, and if not, what to do."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterable, Iterator
from datetime import timedelta
from textwrap import wrap
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ...conf import ConfigurationError
from ...core.text import printable
from ...health import (
    Finding,
    Health,
    Jobs,
    ReplicaHealth,
    ReplicaState,
    Waiting,
    read_health_in_time,
)
from ...health.max_age import read_max_age
from ...health.report import as_json
from ...health.words import counted, duration, listed, moment
from ..command_errors import require_text
from ..database import add_database, chosen_database

_PATIENCE_SECONDS = 10.0
_WIDTH = 70


class Command(BaseCommand):
    help = (
        "Tells whether the scheduler runs and keeps up. Exits with 0 if so, with 1 if cron jobs "
        "are not run as they should be or the database cannot be read, with 2 if it was called "
        "wrongly or a setting is wrong."
    )
    # A probe that is called every few seconds; wrong settings are told of all the same.
    requires_system_checks: tuple[str, ...] = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")
        parser.add_argument(
            "--max-age",
            type=_max_age,
            metavar="S",
            help="How many seconds old a sign of life may be. Default: the replica's tick interval "
            "and a minute. Signs of life come every 15 seconds.",
        )
        parser.add_argument(
            "--replica-id", metavar="ID", help="Ask only whether this one replica lives."
        )
        add_database(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        require_text("--replica-id", options["replica_id"], returncode=2)
        try:
            alias = chosen_database(options)
        except ConfigurationError as error:
            raise CommandError(str(error), returncode=2) from error
        health = read_health_in_time(
            _PATIENCE_SECONDS, alias, options["max_age"], options["replica_id"]
        )
        if options["json"]:
            self.stdout.write(json.dumps(as_json(health, reveals=True), indent=2))
        elif health.is_readable:
            self._write(health, options["replica_id"])
        else:
            self.stdout.write(self.style.ERROR(f"UNHEALTHY: {health.problems[0].text}"))
            self.stdout.write(health.problems[0].remedy)
        if not health.is_healthy:
            sys.exit(1)

    def _write(self, health: Health, replica_id: str | None) -> None:
        if health.is_healthy:
            self.stdout.write(self.style.SUCCESS(f"HEALTHY: {_verdict(health, replica_id)}"))
        else:
            self.stdout.write(self.style.ERROR(f"UNHEALTHY: {health.problems[0].text}"))
        self._write_findings("Problems", health.problems)
        self._write_findings("Warnings", health.warnings)
        self.stdout.write("")
        for label, words in _figures(health):
            self.stdout.write(f"{label:<14} {printable(words)}".rstrip())

    def _write_findings(self, title: str, findings: Iterable[Finding]) -> None:
        for number, finding in enumerate(findings):
            if number == 0:
                self.stdout.write(f"\n{title}")
            self.stdout.write(f"  {finding.code:<18} {finding.text}")
            for line in wrap(finding.remedy, _WIDTH):
                self.stdout.write(f"  {'':<18} {line}")


def _verdict(health: Health, replica_id: str | None) -> str:
    if replica_id is not None:
        return printable(f"replica {replica_id} runs.")
    running = len(health.replicas_in(ReplicaState.RUNNING))
    who = "1 replica runs" if running == 1 else f"{running} replicas run"
    return f"{who}, nothing is overdue."


def _figures(health: Health) -> Iterator[tuple[str, str]]:
    label = "Replicas"
    for line in _aligned(health.replicas):
        yield label, line
        label = ""
    yield "Overdue", _of_waiting(health.overdue)
    yield "Undelivered", _of_waiting(health.undelivered)
    yield "Broken", _of_jobs(health.broken)
    yield "Failing", _of_jobs(health.failing)
    yield "Waiting runs", counted(health.waiting_runs)
    paused = health.paused
    yield "All paused", "no" if paused is None else f"since {moment(paused.since)}"
    yield "Next slot", "none" if health.next_due_at is None else moment(health.next_due_at)
    yield "Clock skew", f"{health.skew.total_seconds():+.1f} s"


def _aligned(replicas: Iterable[ReplicaHealth]) -> list[str]:
    rows = [
        (
            printable(replica.replica_id),
            str(replica.state),
            f"seen {duration(replica.age)} ago",
            f"ticks every {replica.tick_interval.total_seconds():g} s",
            printable(f"{replica.version}, tzdata {replica.tzdata_version or 'unknown'}"),
        )
        for replica in replicas
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        for row in rows
    ] or ["none"]


def _of_waiting(waiting: Waiting) -> str:
    oldest = "" if waiting.lateness is None else f", the oldest for {duration(waiting.lateness)}"
    return counted(waiting.count) + oldest


def _of_jobs(jobs: Jobs) -> str:
    return counted(jobs.count) + (f": {listed(jobs.job_ids)}" if jobs.count else "")


def _max_age(text: str) -> timedelta:
    try:
        return read_max_age(text)
    except ValueError as error:
        raise ArgumentTypeError(f"'{text}': use {error}") from None
