"""``manage.py run_dyncron``: one replica of the scheduler, until it is told to stop."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import autoreload

from django_dyncron.conf import ConfigurationError, DyncronSettings, get_settings
from django_dyncron.core.events import Event, TickFailed, TickResult
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.wiring import open_scheduler


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
        parser.add_argument("--database", metavar="ALIAS", help="Overrides DATABASE.")
        parser.add_argument(
            "--replica-id", metavar="ID", help="A name for this replica, unlike any other's."
        )
        parser.add_argument(
            "--heartbeat-file",
            type=Path,
            metavar="FILE",
            help="Touched after each tick that went well.",
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
        watch = _Watch(options["heartbeat_file"])
        max_ticks = 1 if options["once"] else options["max_ticks"]
        try:
            settings = _settings(options)
            # What is loaded by now stays: full collections need not walk through it every time.
            gc.collect()
            gc.freeze()
            unfinished = asyncio.run(_serve(settings, options["replica_id"], watch, max_ticks))
        except ConfigurationError as error:
            raise CommandError(str(error)) from error
        if unfinished:
            self.stderr.write(f"{unfinished} runs were given up.")
            self.stdout.flush()
            self.stderr.flush()
            # Not sys.exit(): their threads are still at work and may hold anything.
            os._exit(1)
        if max_ticks is not None and watch.error is not None:
            raise CommandError(f"The last tick failed: {watch.error}")


class _Watch:
    """Keeps the error of the last tick and touches the heartbeat file after a good one."""

    def __init__(self, heartbeat_file: Path | None) -> None:
        self.error: BaseException | None = None
        self._heartbeat_file = heartbeat_file

    def __call__(self, event: Event) -> None:
        if isinstance(event, TickFailed):
            self.error = event.error
        elif isinstance(event, TickResult):
            self.error = None
            if self._heartbeat_file is not None:
                self._heartbeat_file.touch()


async def _serve(
    settings: DyncronSettings, replica_id: str | None, watch: _Watch, max_ticks: int | None
) -> int:
    """Run a scheduler to its end; return how many local runs were given up."""
    async with open_scheduler(settings, replica_id=replica_id, observers=[watch]) as scheduler:
        _stop_on_signals(scheduler)
        await scheduler.start(max_ticks=max_ticks)
        return scheduler.unfinished_runs


def _stop_on_signals(scheduler: DynamicScheduler) -> None:
    loop = asyncio.get_running_loop()
    was_told = False

    def on_signal() -> None:
        nonlocal was_told
        if was_told:
            # Not sys.exit(): a thread blocked in the database would hold the process.
            os._exit(1)
        was_told = True
        scheduler.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, on_signal)
        except (NotImplementedError, RuntimeError, ValueError):
            # No such thing on this system or outside the main thread.
            return


def _settings(options: dict[str, Any]) -> DyncronSettings:
    names = {
        "tick_interval": "TICK_INTERVAL_SECONDS",
        "lock_provider": "LOCK_PROVIDER",
        "enqueuer": "ENQUEUER",
        "database": "DATABASE",
    }
    given = {key: options[name] for name, key in names.items() if options[name] is not None}
    return get_settings(**given)


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number
