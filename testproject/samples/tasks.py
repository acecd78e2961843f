"""Tasks that do a little real work, and the cron jobs declared for them."""

from __future__ import annotations

import os
from datetime import timedelta
from importlib import import_module
from urllib.request import urlopen

from django.conf import settings
from django.db.models import Count
from django.utils import timezone

from django_dyncron import background_task, cron_job
from django_dyncron.models import CronRun

SITE_URL = "SITE_URL"
"""The environment variable with the address of this project's own server."""


@cron_job(
    "*/5 * * * *",
    job_id="report-runs",
    payload={"hours": 24},
    description="Writes what ran lately to var/reports.",
)
@background_task
def write_run_report(hours: int) -> None:
    """Write how many runs of each job ended how, during the last ``hours``."""
    now = timezone.now()
    counts = (
        CronRun.objects.filter(created_at__gt=now - timedelta(hours=hours))
        .values_list("job_id", "status")
        .order_by("job_id", "status")
        .annotate(count=Count("pk"))
    )
    lines = [f"Runs of the last {hours} hours, as of {now:%Y-%m-%d %H:%M:%S} UTC", ""]
    lines += [f"{job_id:<30} {status:<12} {count:>6}" for job_id, status, count in counts]
    directory = settings.VAR_DIR / "reports"  # type: ignore[misc]
    directory.mkdir(exist_ok=True)
    (directory / f"runs-{now:%Y-%m-%d}.txt").write_text("\n".join(lines) + "\n")


@cron_job(
    "30 3 * * *",
    job_id="prune-sessions",
    time_zone="Europe/Berlin",
    description="Deletes expired sessions, at night.",
)
@background_task
def prune_expired_sessions() -> None:
    """Delete the sessions that have expired."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()


@cron_job(
    "* * * * *",
    job_id="ping-site",
    payload={"path": "/ping/", "timeout_seconds": 5},
    misfire_policy="skip",
    description="Asks the project's own server whether it is there.",
)
@background_task
def ping_site(path: str, timeout_seconds: int) -> None:
    """Fetch a page of this project's own server; raise if it is not served."""
    address = os.environ.get(SITE_URL, "http://127.0.0.1:8000") + path
    with urlopen(address, timeout=timeout_seconds) as answer:  # noqa: S310
        answer.read()
