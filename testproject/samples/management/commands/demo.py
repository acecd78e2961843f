"""``manage.py demo``: the whole of it in one process, with nothing to set up."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import BaseCommand, CommandError, call_command
from django.db import connection

from django_dyncron.wiring import open_scheduler
from samples.idle import IdleWatch
from samples.jobs import make_one_due, sync_sample_jobs
from samples.printing import RunPrinter
from samples.server import served
from samples.tasks import SITE_URL

_USERNAME = "demo"
_PATIENCE_SECONDS = 30


class Command(BaseCommand):
    help = "Migrates, creates sample cron jobs, serves the admin and runs the scheduler."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="port of the admin (8000)")
        parser.add_argument(
            "--once", action="store_true", help="run what is due, then stop; serve nothing"
        )
        parser.add_argument("--seconds", type=float, help="stop after so many seconds")

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError("The demo makes an administrator with DEBUG off: not done.")
        log_file = _log_to_file()
        call_command("migrate", verbosity=0)
        self._say(f"Database   {connection.vendor}, {connection.settings_dict['NAME']}")
        self._say(f"Log file   {log_file}")
        self._say(f"Cron jobs  {', '.join(sync_sample_jobs())}")
        make_one_due()
        if options["once"]:
            self._run_due(options["seconds"] or _PATIENCE_SECONDS)
        else:
            self._serve_and_run(options["port"], options["seconds"])

    def _run_due(self, seconds: float) -> None:
        if not asyncio.run(_run(RunPrinter(self._say), seconds, once=True)):
            self._say("Nothing was due: the latest slot of each job has run already.")

    def _serve_and_run(self, wanted_port: int, seconds: float | None) -> None:
        with served(wanted_port) as port:
            self._introduce(port, wanted_port)
            asyncio.run(_run(RunPrinter(self._say), seconds, once=False))
        self._say("Stopped.")

    def _introduce(self, port: int, wanted: int) -> None:
        if wanted not in (port, 0):
            self._say(f"Port {wanted} is taken, so another one is used.")
        os.environ[SITE_URL] = f"http://127.0.0.1:{port}"
        self._say(f"Admin      http://127.0.0.1:{port}/admin/")
        self._say(f"Log in     {_USERNAME} / {_new_password()}")
        self._say("Runs are printed as they happen (UTC); Ctrl-C stops.\n")

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _log_to_file() -> Path:
    """Send the scheduler's log, tracebacks included, to a file: the terminal is for the runs."""
    log_file: Path = settings.VAR_DIR / "demo.log"  # type: ignore[misc]
    logger = logging.getLogger("django_dyncron")
    logger.addHandler(logging.FileHandler(log_file, delay=True))
    logger.setLevel(logging.INFO)
    logger.propagate = False
    return log_file


def _new_password() -> str:
    """Create the administrator, or give the one of an earlier demo a new password; return it."""
    password = secrets.token_urlsafe(9)
    user, _ = get_user_model().objects.get_or_create(username=_USERNAME)
    user.is_staff = user.is_superuser = user.is_active = True
    user.set_password(password)
    user.save()
    return password


async def _run(printer: RunPrinter, seconds: float | None, *, once: bool) -> int:
    """Run the scheduler until told to stop; return how many runs there were."""
    watch = IdleWatch(lambda: scheduler.stop() if once else None)
    async with open_scheduler(observers=[printer, watch]) as scheduler:
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, scheduler.stop)
        if seconds is not None:
            loop.call_later(seconds, scheduler.stop)
        await scheduler.start()
    return len(watch.begun)
