"""The stage: servers, databases full of cron jobs, and a scheduler on a clock that stands still.

Servers are started from the installed wheels, unless ``DYNCRON_TEST_POSTGRES_URL`` and
``DYNCRON_TEST_REDIS_URL`` name others.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from django_dyncron.core.definitions import Run
from django_dyncron.core.ports import ILockProvider, ITaskEnqueuer
from django_dyncron.core.runs import Attempt, Outcome
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.testing import FakeClock
from tests.databases import database_alias, settings_from_url, url_from_settings
from tests.servers import PostgresServer, ValkeyServer

# Near the servers' present: cursors far from it would be planned anew.
NOON = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0) + timedelta(days=1)
BATCH = 1_000

_numbers = count(1)


class NullEnqueuer(ITaskEnqueuer):
    """A queue that takes a whole batch at once and forgets it."""

    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None:
        """Forget one task."""

    async def enqueue_runs(
        self, runs: Sequence[Run], may_send: Callable[[], bool]
    ) -> list[Attempt]:
        return [Attempt(run, Outcome.ENQUEUED) for run in runs]


@dataclass
class Stage:
    """Where a benchmark plays: a PostgreSQL, a Redis, a directory for SQLite files."""

    postgres: PostgresServer
    redis_url: str
    directory: Path
    _template: str = ""
    _stack: ExitStack = field(default_factory=ExitStack)

    def postgres_alias(self, **options: Any) -> str:
        """Return the alias of a new, migrated database; its URL is ``url_of(alias)``.

        ``options`` are the ``OPTIONS`` of Django's connection.
        """
        from django.db import connections

        if not self._template:
            self._template = f"dyncron_bench_{os.getpid()}"
            self._migrate(self.postgres.create_database(self._template))
        name = f"{self._template}_{next(_numbers)}"
        url = self.postgres.create_database(name, template=self._template)
        alias = self._stack.enter_context(database_alias(name, url))
        connections.settings[alias]["OPTIONS"] = options
        return alias

    def sqlite_alias(self) -> str:
        """Return the alias of a new, migrated file."""
        name = f"sqlite_{next(_numbers)}"
        url = f"sqlite:///{self.directory / name}.sqlite3"
        self._migrate(url)
        return self._stack.enter_context(database_alias(name, url))

    def _migrate(self, url: str) -> None:
        with database_alias("migrated", url):
            migrate("migrated")

    def close(self) -> None:
        self._stack.close()
        for number in range(1, next(_numbers)):
            self.postgres.drop_database(f"{self._template}_{number}")
        if self._template:
            self.postgres.drop_database(self._template)


@contextmanager
def set_stage() -> Iterator[Stage]:
    """Start the servers, set Django up, and take everything down at the end."""
    with ExitStack() as stack:
        postgres_url = os.environ.get("DYNCRON_TEST_POSTGRES_URL")
        if postgres_url is None:
            own = PostgresServer.start()
            stack.callback(own.stop, "immediate")
            postgres_url = own.url
        redis_url = os.environ.get("DYNCRON_TEST_REDIS_URL")
        if redis_url is None:
            valkey = ValkeyServer.start()
            stack.callback(valkey.stop)
            redis_url = valkey.url
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        set_django_up(f"sqlite:///{directory / 'unused.sqlite3'}")
        stage = Stage(PostgresServer.attach(postgres_url), redis_url, directory)
        stack.callback(stage.close)
        yield stage


def url_of(alias: str) -> str:
    """Return the URL of the database ``alias``."""
    from django.db import connections

    return url_from_settings(connections[alias].settings_dict)


def set_django_up(url: str) -> None:
    """Configure Django with nothing but this app, on the database of ``url``."""
    import django
    from django.conf import settings

    settings.configure(
        DATABASES={"default": settings_from_url(url)},
        INSTALLED_APPS=["django_dyncron"],
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        USE_TZ=True,
    )
    django.setup()


def migrate(alias: str) -> None:
    """Create the tables in the database ``alias``."""
    from django.core.management import call_command

    call_command("migrate", database=alias, verbosity=0)


def scheduler_on(
    alias: str, clock: FakeClock, lock_provider: ILockProvider | None = None, **options: Any
) -> DynamicScheduler:
    """Return a scheduler over the database ``alias`` with a queue that forgets."""
    from django_dyncron.repositories.orm import DjangoCronJobRepository

    options = {"batch_size": BATCH, **options}
    return DynamicScheduler(
        DjangoCronJobRepository(alias), NullEnqueuer(), lock_provider, clock=clock, **options
    )
