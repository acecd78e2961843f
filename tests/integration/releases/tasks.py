"""Forty declared jobs; ``DYNCRON_TEST_RELEASE`` says of which release.

The second one changes the minute of the first twenty, drops five jobs and adds five others.
"""

from __future__ import annotations

import os

from django_dyncron import cron_job

RELEASE = int(os.environ.get("DYNCRON_TEST_RELEASE", "1"))


def report(number: int) -> None: ...


for _number in range(40) if RELEASE == 1 else (*range(35), *range(40, 45)):
    _minute = 30 if RELEASE == 2 and _number < 20 else 0
    cron_job(f"{_minute} 6 * * *", job_id=f"job-{_number:02}", payload={"number": _number})(report)
