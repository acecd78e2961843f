from __future__ import annotations

from redis import Redis
from rq import Queue

from django_dyncron.models import CronRun
from tests.engines import engine


class Engine(engine.Engine):
    name = "rq"
    worker_command = (
        *("-m", "django", "rqworker", "default", "slow"),
        *("--worker-class", "rq.SimpleWorker"),
    )
    ready = "istening on"
    native_task = "tests.engines.on_rq.tasks.note"
    native_failing_task = "tests.engines.on_rq.tasks.fail"
    options = {"timeout": 60, "at_front": True, "retry": {"max": 1}, "meta": {"tenant": "north"}}
    knows_queues = True

    def run_again(self, run: CronRun, count: int) -> None:
        """Hand ``run`` over again, in vain, and then do what RQ does when a worker has died."""
        super().run_again(run, count)
        with Redis.from_url(self.cluster.environment["DYNCRON_TEST_QUEUE_URL"]) as client:
            queue = Queue(run.queue, connection=client)
            assert queue.job_ids == []
            for _ in range(count):
                queue.push_job_id(str(run.id))
