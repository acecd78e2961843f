"""``manage.py dyncron_export``: the cron jobs as a JSON document or as a crontab."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ...conf import ConfigurationError, database_alias, get_settings
from ...exporters import write_crontab, write_json
from ...models import CronJob
from ...outlook import planning_rules
from ...spelling import did_you_mean
from ..refusals import refusals_told


class Command(BaseCommand):
    help = "Writes cron jobs to the standard output or to a file; dyncron_import reads the JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("job_id", nargs="*", help="Which jobs; default: all.")
        parser.add_argument("--format", choices=("json", "crontab"), default="json")
        parser.add_argument("--output", type=Path, metavar="FILE", help="Default: standard output.")
        parser.add_argument("--database", metavar="ALIAS", help="Overrides DATABASE.")
        parser.add_argument(
            "--manage",
            default="python manage.py",
            metavar="COMMAND",
            help="How a crontab is to run Django's commands; default: python manage.py.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        overrides = {} if options["database"] is None else {"DATABASE": options["database"]}
        try:
            using = database_alias(get_settings(**overrides))
        except ConfigurationError as error:
            raise CommandError(str(error)) from error
        with refusals_told():
            jobs = _jobs(using, options["job_id"])
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
        self.stderr.write(f"{len(jobs)} jobs written to {options['output']}.")


def _jobs(using: str, names: list[str]) -> list[CronJob]:
    rows = CronJob.objects.using(using).order_by("job_id")
    if not names:
        return list(rows)
    found = list(rows.filter(job_id__in=names))
    for name in names:
        if name not in {job.job_id for job in found}:
            known = rows.values_list("job_id", flat=True)
            raise CommandError(f"There is no job {name!r}. {did_you_mean(name, known)}".rstrip())
    return found
