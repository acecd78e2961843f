"""``manage.py dyncron_export``: the cron jobs as a JSON document or as a crontab."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ...exporters import write_crontab, write_json
from ...models import CronJob
from ...outlook import planning_rules
from ..chosen_jobs import jobs_named
from ..command_errors import refusals_told, require_text
from ..database import add_database, chosen_database


class Command(BaseCommand):
    help = "Writes cron jobs to the standard output or to a file; dyncron_import reads the JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("job_id", nargs="*", metavar="JOB_ID", help="Default: all cron jobs.")
        parser.add_argument("--format", choices=("json", "crontab"), default="json")
        parser.add_argument("--output", type=Path, metavar="FILE", help="Default: standard output.")
        add_database(parser)
        parser.add_argument(
            "--manage",
            default="python manage.py",
            metavar="COMMAND",
            help="How a crontab is to run Django's commands; default: python manage.py.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        require_text("--manage", options["manage"])
        with refusals_told():
            jobs = _jobs(chosen_database(options), options["job_id"])
        if options["format"] == "json":
            text = write_json(jobs)
        else:
            text = write_crontab(jobs, planning_rules(), options["manage"])
        if options["output"] is None:
            self.stdout.write(text, ending="")
            return
        try:
            options["output"].write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{options['output']} cannot be written: {error}") from error
        self.stderr.write(f"{len(jobs)} cron jobs written to {options['output']}.")


def _jobs(using: str, job_ids: list[str]) -> list[CronJob]:
    rows = jobs_named(job_ids, using) if job_ids else CronJob.objects.using(using)
    return list(rows.order_by("job_id"))
