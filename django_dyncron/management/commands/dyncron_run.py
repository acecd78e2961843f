"""``manage.py dyncron_run JOB_ID``: run a cron job now, from this process."""

from __future__ import annotations

import asyncio
import os
from argparse import ArgumentParser
from typing import Any

from asgiref.sync import sync_to_async
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from ...conf import DyncronSettings, load_repository
from ...core.exceptions import StoreUnavailable
from ...core.policies import RunStatus
from ...job_checks import fault_words
from ...manual import request_run
from ...models import CronJob, CronRun
from ...repositories.orm import DjangoCronJobRepository
from ...wiring import open_scheduler
from ..chosen_jobs import jobs_named
from ..command_errors import refusals_told
from ..database import add_database, settings_with_database
from ..stopping import stop_on_signals
from ..who import who

_WENT_WELL = (RunStatus.ENQUEUED, RunStatus.RUNNING, RunStatus.SUCCEEDED)


class Command(BaseCommand):
    help = (
        "Runs a cron job now, whether or not it is paused, and leaves its schedule alone. This "
        "process hands the run to its queue; a task of the local queue runs here and is waited "
        "for. No scheduler need be there, and no other cron job is touched. Exits with 1 if the "
        "run could not be handed over, or the task failed here."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("job_id", metavar="JOB_ID", help="The cron job to run.")
        add_database(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with refusals_told():
                settings = settings_with_database(options)
                using = _database_of(settings)
                job = jobs_named([options["job_id"]], using).get()
                run, given_up = asyncio.run(_run_now(settings, job, using))
        except CronJob.DoesNotExist:
            raise CommandError(f'The cron job "{options["job_id"]}" was just deleted.') from None
        except ValidationError as error:
            raise CommandError("\n".join(fault_words(error))) from error
        except StoreUnavailable as error:
            raise CommandError(str(error)) from error
        words = f"{run.job_id}: {_outcome(run)}"
        if given_up:
            self.stderr.write(words)
            self.stderr.flush()
            # Not sys.exit(): the thread of the task is still at work and may hold anything.
            os._exit(1)
        if run.status not in _WENT_WELL:
            raise CommandError(words)
        self.stdout.write(words)


def _database_of(settings: DyncronSettings) -> str:
    repository = load_repository(settings)
    if not isinstance(repository, DjangoCronJobRepository):
        raise CommandError("REPOSITORY is one of your own; this works with the tables of the app.")
    return repository.using


async def _run_now(settings: DyncronSettings, job: CronJob, using: str) -> tuple[CronRun, int]:
    """Run ``job``; return the run as it is then, and how many local tasks were given up."""
    async with open_scheduler(settings) as scheduler:
        stop_on_signals(scheduler.stop)
        # Kept for us from the start: a scheduler that sweeps meanwhile leaves it alone.
        ask = sync_to_async(request_run)
        run = await ask(job, by=who(), using=using, replica_id=scheduler.replica_id)
        await scheduler.deliver(run.pk)
        await sync_to_async(run.refresh_from_db)(using=using)
        return run, scheduler.unfinished_runs


def _outcome(run: CronRun) -> str:
    """Return in words what has become of a run."""
    error = run.error.rstrip(".")
    match run.status:
        case RunStatus.SUCCEEDED if run.started_at and run.finished_at:
            return f"succeeded in {(run.finished_at - run.started_at).total_seconds():.1f} s"
        case RunStatus.ENQUEUED:
            task = f", task {run.task_id}" if run.task_id else ""
            return f'handed to the queue "{run.queue}"{task}'
        case RunStatus.CLAIMED:
            why = f": {error}" if error else ""
            return f"not handed over yet{why}. A scheduler tries again."
    reason = f" ({run.reason})" if run.reason else ""
    return f"{run.status}{reason}{f': {error}' if error else ''}"
