"""``python -m tests.engines.again RUN_ID COUNT``: hand one run to its queue again, COUNT times.

So does a replica that takes over from one that died before it could write down what it had sent.
"""

from __future__ import annotations

import asyncio
import sys

import django


def main(run_id: str, count: int) -> None:
    from django_dyncron.conf import get_settings, load_enqueuer
    from django_dyncron.core.definitions import Run
    from django_dyncron.models import CronRun

    row = CronRun.objects.get(pk=run_id)
    run = Run(
        run_id=row.id,
        job_id=row.job_id,
        task_name=row.task_name,
        payload=row.payload,
        queue=row.queue,
        scheduled_for=row.scheduled_for,
        options=row.options,
    )
    enqueuer = load_enqueuer(row.enqueuer, get_settings())

    async def send() -> None:
        for attempt in await enqueuer.enqueue_runs([run] * count, lambda: True):
            print(attempt.outcome.value, attempt.error)  # noqa: T201
        await enqueuer.aclose()

    asyncio.run(send())


if __name__ == "__main__":
    django.setup()
    main(sys.argv[1], int(sys.argv[2]))
