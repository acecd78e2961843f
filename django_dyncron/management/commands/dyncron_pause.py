"""``manage.py dyncron_pause``: pause some cron jobs, or everything."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ...pausing import begin_pause, current_pause, pause
from ..chosen_jobs import add_choice, jobs_named, means_all
from ..command_errors import refusals_told, require_text
from ..database import add_database, chosen_database
from ..who import who


class Command(BaseCommand):
    help = (
        "Pauses cron jobs: those named or, with --all, everything, without touching a cron job. "
        "What they miss is not made up. Naming one that is paused already is no error."
    )

    # When something is on fire, a mistake elsewhere must not be in the way.
    requires_system_checks: tuple[str, ...] = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_choice(parser, "Pause everything, until dyncron_resume --all.")
        add_database(parser)
        parser.add_argument(
            "--reason", default="", metavar="TEXT", help="Why; shown beside the state."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        require_text("--reason", options["reason"])
        with refusals_told():
            everything, using = means_all(options), chosen_database(options)
            if everything:
                self._pause_everything(options["reason"], using)
            else:
                self._pause(list(dict.fromkeys(options["job_ids"])), options["reason"], using)

    def _pause(self, job_ids: list[str], reason: str, using: str) -> None:
        paused = {job.job_id for job in pause(jobs_named(job_ids, using), reason)}
        for job_id in job_ids:
            state = "paused" if job_id in paused else "was paused already"
            self.stdout.write(f"{job_id}: {state}")

    def _pause_everything(self, reason: str, using: str) -> None:
        if begin_pause(reason, who(), using):
            self.stdout.write("Everything is paused.")
            return
        lasting = current_pause(using)
        if lasting is None:
            raise CommandError("Somebody has just resumed everything; it is not paused.")
        by = f" by {lasting.paused_by}" if lasting.paused_by else ""
        why = f": {lasting.reason}" if lasting.reason else "."
        self.stdout.write(
            f"Everything was paused already, since {lasting.since:%Y-%m-%d %H:%M:%SZ}{by}{why}"
        )
