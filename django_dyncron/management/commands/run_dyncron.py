"""``manage.py run_dyncron``: one replica of the scheduler, until it is told to stop."""

from __future__ import annotations

import asyncio
import gc
import os
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import autoreload

from ...conf import ConfigurationError, DyncronSettings, database_alias, get_settings
from ...core.events import Event, TickFailed, TickResult
from ...core.ports import Observer
from ...systemd import Systemd
from ...watchdog import KeepAlive
from ...wiring import open_scheduler
from ..database import add_database
from ..heartbeat_file import HeartbeatFile
from ..stopping import stop_on_signals

_HIGHEST_PORT = 65_535
_LONGEST_REPLICA_ID = 255
"""What its row can hold."""


class Command(BaseCommand):
    help = (
        "Runs the scheduler. Start as many replicas as you like. The first SIGTERM or SIGINT "
        "finishes the work in hand and exits with 0, or with 1 if local tasks outlast the grace; "
        "the second exits with 1 at once. With --once or --max-ticks it exits with 1, too, if the "
        "last tick failed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="Tick once, then exit.")
        parser.add_argument("--max-ticks", type=_count, metavar="N", help="Exit after N ticks.")
        parser.add_argument(
            "--tick-interval", type=float, metavar="S", help="Overrides TICK_INTERVAL_SECONDS."
        )
        parser.add_argument("--lock-provider", metavar="NAME", help="Overrides LOCK_PROVIDER.")
        parser.add_argument("--enqueuer", metavar="NAME", help="Overrides ENQUEUER.")
        add_database(parser)
        parser.add_argument(
            "--replica-id",
            type=_replica_id,
            metavar="ID",
            help="A name for this replica, unlike any other's.",
        )
        parser.add_argument(
            "--heartbeat-file",
            type=Path,
            metavar="FILE",
            help="Made by the first tick that goes well, then touched as long as none is stuck.",
        )
        parser.add_argument(
            "--metrics-port",
            type=_port,
            metavar="PORT",
            help="Serve metrics for Prometheus on this port; 0 chooses a free one.",
        )
        parser.add_argument(
            "--metrics-host", default="127.0.0.1", metavar="HOST", help="Default: 127.0.0.1."
        )
        parser.add_argument(
            "--reload", action="store_true", help="Restart when code changes; for development."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["reload"]:
            autoreload.run_with_reloader(self._run, **options)
        else:
            self._run(**options)

    def _run(self, **options: Any) -> None:
        last = _LastTick()
        max_ticks = 1 if options["once"] else options["max_ticks"]
        with ExitStack() as stack:
            systemd = Systemd.from_environment()
            observers: list[Observer] = [last]
            keep_alive: list[KeepAlive] = []
            if systemd is not None:
                stack.callback(systemd.close)
                observers.append(systemd)
                keep_alive.append(systemd)
            if options["heartbeat_file"] is not None:
                file = HeartbeatFile(options["heartbeat_file"])
                observers.append(file)
                keep_alive.append(file)
            try:
                settings = _settings(options)
                if options["metrics_port"] is not None:
                    observers.append(_metrics(options, database_alias(settings), stack))
                # What is loaded by now stays: full collections need not walk through it each time.
                gc.collect()
                gc.freeze()
                served = _serve(
                    settings, options["replica_id"], observers, keep_alive, systemd, max_ticks
                )
                unfinished = asyncio.run(served)
            except ConfigurationError as error:
                raise CommandError(str(error)) from error
        if unfinished:
            self.stderr.write(f"{unfinished} runs were given up.")
            self.stdout.flush()
            self.stderr.flush()
            # Not sys.exit(): their threads are still at work and may hold anything.
            os._exit(1)
        if max_ticks is not None and last.error is not None:
            raise CommandError(f"The last tick failed: {last.error}")


class _LastTick:
    """Keeps the error of the last tick."""

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def __call__(self, event: Event) -> None:
        if isinstance(event, TickFailed):
            self.error = event.error
        elif isinstance(event, TickResult):
            self.error = None


def _metrics(options: dict[str, Any], using: str, stack: ExitStack) -> Observer:
    """Serve metrics until ``stack`` is left; return the observer that feeds them."""
    host, port = options["metrics_host"], options["metrics_port"]
    try:
        from ...metrics import serve_metrics
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "prometheus_client":
            raise
        raise CommandError(
            '--metrics-port needs prometheus-client: pip install "django-dyncron[prometheus]"'
        ) from error
    try:
        server = serve_metrics(host, port, using)
    except OSError as error:
        raise CommandError(f"--metrics-port: cannot listen on {host}:{port}: {error}") from error
    stack.callback(server.close)
    return server


async def _serve(
    settings: DyncronSettings,
    replica_id: str | None,
    observers: Sequence[Observer],
    keep_alive: Sequence[KeepAlive],
    systemd: Systemd | None,
    max_ticks: int | None,
) -> int:
    """Run a scheduler to its end; return how many local runs were given up."""
    async with open_scheduler(
        settings, replica_id=replica_id, observers=observers, keep_alive=keep_alive
    ) as scheduler:

        def stop() -> None:
            scheduler.stop()
            if systemd is not None:
                systemd.stopping()

        stop_on_signals(stop)
        await scheduler.start(max_ticks=max_ticks)
        return scheduler.unfinished_runs


def _settings(options: dict[str, Any]) -> DyncronSettings:
    names = {
        "tick_interval": "TICK_INTERVAL_SECONDS",
        "lock_provider": "LOCK_PROVIDER",
        "enqueuer": "ENQUEUER",
        "database": "DATABASE",
    }
    given = {key: options[name] for name, key in names.items() if options[name] is not None}
    return get_settings(**given)


def _port(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) <= _HIGHEST_PORT:
        return int(text)
    raise ArgumentTypeError(f"'{text}': use 0 to {_HIGHEST_PORT}")


def _count(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise ArgumentTypeError(f"'{text}': use 1 or more")


def _replica_id(text: str) -> str:
    if text.strip() and text.isprintable() and len(text) <= _LONGEST_REPLICA_ID:
        return text
    raise ArgumentTypeError(f"use 1 to {_LONGEST_REPLICA_ID} printable characters")
