"""``manage.py dyncron_resume``: resume some cron jobs, or end the pause of everything."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from ...pausing import current_pause, resume, resume_all
from ..chosen_jobs import add_choice, jobs_named, means_all
from ..command_errors import refusals_told
from ..database import add_database, chosen_database
from ..who import who


class Command(BaseCommand):
    help = (
        "Resumes cron jobs from this moment on: those named or, with --all, everything that "
        "dyncron_pause --all has paused. Cron jobs that were paused by themselves stay so. Naming "
        "one that is not paused is no error."
    )

    # When something is on fire, a mistake elsewhere must not be in the way.
    requires_system_checks: tuple[str, ...] = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_choice(parser, "End the pause of everything.")
        add_database(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        with refusals_told():
            everything, using = means_all(options), chosen_database(options)
            if everything:
                self._resume_everything(using)
            else:
                self._resume(list(dict.fromkeys(options["job_ids"])), using)

    def _resume_everything(self, using: str) -> None:
        was_paused = resume_all(who(), using)
        self.stdout.write("Everything is resumed." if was_paused else "Everything was not paused.")

    def _resume(self, job_ids: list[str], using: str) -> None:
        resumed = {job.job_id for job in resume(jobs_named(job_ids, using))}
        for job_id in job_ids:
            state = "resumed" if job_id in resumed else "was not paused"
            self.stdout.write(f"{job_id}: {state}")
        if current_pause(using):
            words = "Everything is still paused, so it does not run: see dyncron_resume --all."
            self.stdout.write(self.style.WARNING(words))
