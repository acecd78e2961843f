"""Django Tasks on Redis, by RQ: tasks are RQ's jobs, which say nothing of their run."""

from __future__ import annotations

from tests.engines import engine


class Engine(engine.Engine):
    name = "django_tasks_rq"
    worker_command = ("-m", "django", "rqworker", "default", "--job-class", "django_tasks_rq.Job")
    ready = "Listening on default"
    native_task = "tests.engines.on_django_tasks_rq.tasks.note"
    native_failing_task = "tests.engines.on_django_tasks_rq.tasks.fail"
    knows_queues = True
    tells_native_tasks = False
    takes_run_ids = False
