"""Django Tasks on PostgreSQL: tasks are rows beside the cron jobs."""

from __future__ import annotations

from django.db import connections

from django_dyncron.models import CronRun
from tests.engines import engine
from tests.integration.cluster import wait_until

_TABLE = "django_tasks_database_dbtaskresult"


class Engine(engine.Engine):
    name = "django_tasks_db"
    worker_command = (
        *("-m", "django", "db_worker", "--queue-name", "*", "--interval", "0.02"),
        "--no-startup-delay",
    )
    ready = "Starting worker"
    native_task = "tests.engines.on_django_tasks_db.tasks.note"
    native_failing_task = "tests.engines.on_django_tasks_db.tasks.fail"
    options = {"priority": 5}
    needs_redis = False
    has_tables = True
    knows_queues = True

    def run_again(self, run: CronRun, count: int) -> None:
        """Hand ``run`` over again, in vain, and then do as one does when a worker has died."""
        super().run_again(run, count)
        assert self._statuses(run) == ["SUCCESSFUL"]
        for _ in range(count):
            self.cluster.sql(f"UPDATE {_TABLE} SET status = 'READY' WHERE id = %s", str(run.id))
            wait_until(lambda: self._statuses(run) == ["SUCCESSFUL"], 15, lambda: self.output)

    def _statuses(self, run: CronRun) -> list[str]:
        """Return the status of each row that was added for ``run``."""
        about_run = "id = %s OR args_kwargs->'kwargs'->'run'->>'run_id' = %s"
        with connections[self.cluster.alias].cursor() as cursor:
            statement = f"SELECT status FROM {_TABLE} WHERE {about_run}"
            cursor.execute(statement, [str(run.id), str(run.id)])
            return [status for (status,) in cursor.fetchall()]
