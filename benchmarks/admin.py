"""How fast the admin's pages are with 100,000 cron jobs and a million runs on PostgreSQL.

Run it with ``python -m benchmarks.admin``. There are 500 different schedules. Whole requests are
measured, from the URL to the last byte of the page, but no network and no browser.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import TYPE_CHECKING

from benchmarks._tables import print_machine, print_table, print_target
from tests.servers import PostgresServer

if TYPE_CHECKING:
    from django.test import Client

JOBS = 100_000
BUSY_JOBS = 100
RUNS_OF_EACH = 10_000
TIMES = 7
LIST = "/admin/django_dyncron/cronjob/"
PAGES = {
    "list": (LIST, 500),
    "list, by next run": (f"{LIST}?o=4", 500),
    "list, last page": (f"{LIST}?p=1000", 500),
    "list, paused": (f"{LIST}?state=paused", 500),
    "list, overdue": (f"{LIST}?state=overdue", 500),
    "list, one queue": (f"{LIST}?queue=queue-3", 500),
    "list, search": (f"{LIST}?q=job-00012", 500),
    "form": (f"{LIST}{{pk}}/change/", 300),
    "form to add": (f"{LIST}add/", 300),
    "overview, counted anew": (f"{LIST}overview/", 2_000),
    "overview, as counted before": (f"{LIST}overview/", 2_000),
}
ASSORTED = """
    UPDATE django_dyncron_cronjob SET
        cron_expression = expression, planned_cron_expression = expression,
        queue = 'queue-' || id % 5, task_name = 'shop.tasks.report_' || id % 40,
        is_active = id % 50 <> 0, pause_reason = CASE id % 50 WHEN 0 THEN 'Holidays' ELSE '' END,
        next_run_at = CASE WHEN id % 50 <> 0 THEN next_run_at END
    FROM (
        SELECT i, (i % 20) * 3 || ' ' || i / 20 % 5 || ' * * ' || i / 100 % 5 + 1 AS expression
        FROM generate_series(0, 499) AS i
    ) AS schedules
    WHERE i = id % 500
"""
HISTORY = """
    INSERT INTO django_dyncron_cronrun
        (id, job_id, scheduled_for, created_at, started_at, finished_at, status, task_name)
    SELECT gen_random_uuid(), job_id, slot, slot, slot, slot + interval '2 seconds',
        CASE minute %% 20 WHEN 0 THEN 'failed' ELSE 'succeeded' END, task_name
    FROM (SELECT job_id, task_name FROM django_dyncron_cronjob ORDER BY job_id LIMIT %s) AS jobs,
        generate_series(1, %s) AS minute, make_interval(mins => minute) AS ago,
        LATERAL (SELECT %s::timestamptz - ago AS slot) AS slots
"""


def main() -> None:
    server = PostgresServer.start()
    try:
        set_django_up(server.url)
        print_machine()
        fill()
        measure(log_in())
    finally:
        server.stop("immediate")


def set_django_up(url: str) -> None:
    import django

    os.environ |= {"DJANGO_SETTINGS_MODULE": "tests.settings", "DYNCRON_TEST_DATABASE_URL": url}
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


def fill() -> None:
    from django.db import connection

    from benchmarks._jobs import add_daily, vacuum

    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    add_daily("default", JOBS, midnight + timedelta(days=1))
    with connection.cursor() as cursor:
        cursor.execute(ASSORTED)
        cursor.execute(HISTORY, [BUSY_JOBS, RUNS_OF_EACH, midnight])
    vacuum("default")


def log_in() -> Client:
    from django.contrib.auth.models import User
    from django.test import Client

    client = Client(headers={"host": "localhost"})
    client.force_login(User.objects.create_superuser("ann"))
    return client


def measure(client: Client) -> None:
    from django.core.cache import cache

    from django_dyncron.models import CronJob

    job = CronJob.objects.earliest("job_id")
    rows, verdicts = [], []
    for name, (address, limit) in PAGES.items():
        url = address.format(pk=job.pk)
        figures = []
        for _ in range(TIMES + 1):
            if name.endswith("anew"):
                cache.clear()
            figures.append(timed(client, url))
        seconds = median(figure[0] for figure in figures[1:]) * 1000
        _, queries, size = figures[-1]
        rows.append([name, f"{seconds:.0f}", f"{queries}", f"{size / 1024:.0f}"])
        verdicts.append((name, seconds, limit))
    print_table(f"{JOBS:,} cron jobs", ["ms", "queries", "KiB"], rows)
    for verdict in verdicts:
        print_target(*verdict, "ms")


def timed(client: Client, url: str) -> tuple[float, int, int]:
    """Return how many seconds, queries and bytes a page takes."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as captured:
        start = time.perf_counter()
        answer = client.get(url)
        seconds = time.perf_counter() - start
    assert answer.status_code == 200, (url, answer.status_code)
    return seconds, len(captured), len(answer.content)


if __name__ == "__main__":
    main()
