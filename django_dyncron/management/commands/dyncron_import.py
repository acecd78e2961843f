"""``manage.py dyncron_import SOURCE``: take over the jobs of another scheduler, or of a file."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections
from django.utils import timezone

from ...conf import ConfigurationError
from ...importers import Choices, ImportPlan, Source, SourceError, carry_out
from ...importers.report import as_json, in_words
from ...importers.sources.crontab import read_crontab
from ...importers.sources.django_celery_beat import read_django_celery_beat
from ...importers.sources.django_q2 import read_django_q2
from ...importers.sources.documents import read_json, read_yaml
from ..database import add_database, chosen_database
from ..terminal import writable

_TABLES = {"django-celery-beat": read_django_celery_beat, "django-q2": read_django_q2}
_FILES = ("crontab", "json", "yaml")


class _InAnyOrder(CommandParser):
    """Takes FILE after options too: otherwise it has to stand right behind SOURCE."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        return self.parse_intermixed_args(args, namespace)


class Command(BaseCommand):
    help = (
        "Imports cron jobs: all of them or, if one of them cannot be, none. Says of each when it "
        "ran before, when it will run, and what is different. Done again, it imports nothing twice."
    )

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Put the parser that Django makes into one that minds no order."""
        made = super().create_parser(prog_name, subcommand, **kwargs)
        return _InAnyOrder(
            prog=made.prog,
            description=made.description,
            formatter_class=made.formatter_class,
            called_from_command_line=made.called_from_command_line,
            parents=[made],
            add_help=False,
        )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("source", choices=[*_TABLES, *_FILES])
        parser.add_argument(
            "file", nargs="?", help="What to read, - for the standard input; not for tables."
        )
        parser.add_argument("--dry-run", action="store_true", help="Only tell what would be done.")
        parser.add_argument(
            "--only", action="append", default=[], metavar="PATTERN",
            help="Names to import, such as 'report-*'; may be given again.",
        )  # fmt: skip
        parser.add_argument("--prefix", default="", help="Put before every job id.")
        parser.add_argument("--disabled", action="store_true", help="Make new jobs paused.")
        parser.add_argument(
            "--update", action="store_true", help="Overwrite jobs that are there and differ."
        )
        parser.add_argument(
            "--skip-existing", action="store_true", help="Leave jobs that are there as they are."
        )
        parser.add_argument(
            "--skip-invalid", action="store_true", help="Import the others if some cannot be."
        )
        parser.add_argument("--enqueuer", metavar="NAME", help="One of ENQUEUERS for all of them.")
        add_database(parser)
        parser.add_argument(
            "--from-database", metavar="ALIAS", help="Where the tables are; default: the same."
        )
        parser.add_argument("--task", default="", help="The task that runs a crontab's commands.")
        parser.add_argument(
            "--user-column", action="store_true", help="The crontab is one of the system's."
        )
        parser.add_argument(
            "--time-zone",
            default="",
            metavar="ZONE",
            help="Of the crontab; default: the project's.",
        )
        parser.add_argument("--json", action="store_true", help="Report as one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        dry_run = options["dry_run"]
        try:
            plan = self._import(options, timezone.now())
        except (ConfigurationError, SourceError) as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            report = as_json(plan, dry_run=dry_run)
            self.stdout.write(json.dumps(report, indent=2))
        else:
            for line in in_words(plan, dry_run=dry_run):
                self.stdout.write(writable(line, self.stdout))
        if plan.is_refused:
            others = "" if options["skip_invalid"] else ", or import the others with --skip-invalid"
            raise CommandError(f"Nothing was imported: mend what is refused{others}.")

    def _import(self, options: dict[str, Any], now: datetime) -> ImportPlan:
        using = chosen_database(options)
        choices = Choices(
            prefix=options["prefix"],
            only=tuple(options["only"]),
            enqueuer=options["enqueuer"] or "",
            disabled=options["disabled"],
            update=options["update"],
            skip_existing=options["skip_existing"],
            skip_invalid=options["skip_invalid"],
        )
        source = _read(options, using, now)
        return carry_out(source, choices, now, using, dry_run=options["dry_run"])


def _read(options: dict[str, Any], using: str, now: datetime) -> Source:
    name, file = options["source"], options["file"]
    if read := _TABLES.get(name):
        if file is not None:
            raise SourceError(f"{name} is read from its tables, not from a file.")
        alias = options["from_database"] or using
        if alias not in connections.settings:
            raise SourceError(f"DATABASES has no {alias!r}, which --from-database names.")
        return read(alias, now, options["enqueuer"] or "")
    if file is None:
        raise SourceError(f"Name the {name} file to read, or - for the standard input.")
    readers: dict[str, Callable[[str], Source]] = {
        "json": read_json,
        "yaml": read_yaml,
        "crontab": lambda text: read_crontab(
            text,
            options["task"],
            user_column=options["user_column"],
            time_zone=options["time_zone"],
        ),
    }
    return readers[name](_text(file))


def _text(file: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return raw.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise SourceError(f"{file} cannot be read: {error}") from error
