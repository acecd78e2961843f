"""``manage.py dyncron_sync``: make the table follow the jobs that are declared in code."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ...conf import database_alias, load_enqueuers
from ...registry import declared_jobs
from ...syncing import Choices, SyncRefused, SyncReport, default_source, sync_jobs
from ...syncing.report import as_json, hints_for, in_words, summary_of
from ..command_errors import refusals_told, require_text
from ..database import add_database, settings_with_database
from ..terminal import writable


class Command(BaseCommand):
    help = (
        "Creates the cron jobs that are declared in code by cron_job(), updates those whose "
        "declaration has changed, and flags those that are no longer declared. What somebody has "
        "edited in the table is left alone and reported. A step of each deploy, after migrate."
    )
    # The declarations are checked here, all at once; the checks would tell of them a second time.
    requires_system_checks: tuple[str, ...] = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--dry-run", action="store_true", help="Report what would be done; write nothing."
        )
        parser.add_argument(
            "--check",
            action="store_true",
            help="The same, and exit with 1 if there is anything to do or in conflict.",
        )
        parser.add_argument(
            "--prune", action="store_true", help="Pause the cron jobs that are no longer declared."
        )
        parser.add_argument(
            "--adopt",
            nargs="*",
            metavar="JOB_ID",
            help="Take over rows with a declared job id that the code has not made: these, or all.",
        )
        parser.add_argument(
            "--take-code",
            nargs="*",
            metavar="JOB_ID",
            help="Overwrite edited fields with what the code says: of these cron jobs, or of all.",
        )
        parser.add_argument(
            "--source",
            metavar="NAME",
            help="Name of this code base, if several share the table. Default: the top package of "
            "the settings module.",
        )
        add_database(parser)
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        jobs = declared_jobs()
        job_ids = [job.job_id for job in jobs]
        source = options["source"]
        require_text("--source", source)
        choices = Choices(
            source=default_source() if source is None else source,
            adopt=_chosen(options["adopt"], job_ids),
            take_code=_chosen(options["take_code"], job_ids),
            prune=options["prune"],
        )
        dry_run = options["dry_run"] or options["check"]
        try:
            with refusals_told():
                settings = settings_with_database(options)
                # Once, before each declaration complains of it.
                load_enqueuers(settings)
                using = database_alias(settings)
                report = sync_jobs(jobs, choices, using=using, dry_run=dry_run)
        except SyncRefused as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            told = as_json(report, source=choices.source, dry_run=dry_run)
            self.stdout.write(json.dumps(told, indent=2, default=repr))
        else:
            self._write(report, dry_run)
        if options["check"] and not report.is_in_sync:
            raise CommandError("The table does not follow the code.")

    def _write(self, report: SyncReport, dry_run: bool) -> None:
        for line in report.lines:
            words = writable(in_words(line), self.stdout)
            self.stdout.write(self.style.WARNING(words) if line.is_open else words)
        for hint in hints_for(report):
            self.stdout.write(hint)
        beginning = "Nothing is written. " if dry_run else ""
        self.stdout.write(f"{beginning}{summary_of(report)}")


def _chosen(given: list[str] | None, all_of_them: list[str]) -> list[str]:
    """Return the job ids of an option: none if it was not given, all if it names none."""
    if given is None:
        return []
    return given or all_of_them
