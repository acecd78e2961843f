"""``manage.py dyncron_prune``: delete old runs now, as the scheduler does bit by bit."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from ...conf import database_alias
from ...repositories.pruning import prunable, prune
from ..command_errors import refusals_told
from ..database import add_database, settings_with_database

_AT_ONCE = 1000
_MOST_DAYS = 36_600


class Command(BaseCommand):
    help = (
        "Deletes runs older than RUN_RETENTION_DAYS, a thousand at a time. Claimed and running "
        "ones stay, however old."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--days", type=float, metavar="N", help="Overrides RUN_RETENTION_DAYS.")
        add_database(parser)
        parser.add_argument("--dry-run", action="store_true", help="Only count them.")

    def handle(self, *args: Any, **options: Any) -> None:
        with refusals_told():
            settings = settings_with_database(options)
            using = database_alias(settings)
        days = settings.run_retention_days if options["days"] is None else options["days"]
        if days is None:
            raise CommandError("RUN_RETENTION_DAYS is None, which keeps runs: give --days.")
        if not 0 <= days <= _MOST_DAYS:
            raise CommandError(f"--days {days:g}: use 0 to {_MOST_DAYS}.")
        with refusals_told():
            self._prune(using, days, dry_run=options["dry_run"])

    def _prune(self, using: str, days: float, *, dry_run: bool) -> None:
        before = timezone.now() - timedelta(days=days)
        if dry_run:
            self.stdout.write(f"{prunable(using, before).count()} runs would be deleted.")
            return
        deleted = 0
        while pruned := prune(using, before, _AT_ONCE):
            deleted += pruned
        self.stdout.write(f"{deleted} runs deleted.")
