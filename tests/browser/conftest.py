"""Fixtures of the tests in a browser: the site under a strict policy, and visits to it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

if TYPE_CHECKING:
    from django.test import Client
    from playwright.sync_api import Browser

    from .visits import Visits

# The other tests get by without Playwright.
collect_ignore_glob = [] if find_spec("playwright") else ["test_*.py"]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One Chromium for all; each visit has a profile of its own."""
    from .chromium import chromium

    with pytest.MonkeyPatch.context() as patch, chromium() as browser:
        # Playwright keeps an event loop running in this thread, where the tests use the ORM.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        yield browser


@pytest.fixture(scope="package")
def site(django_db_setup: None) -> Iterator[str]:
    """Address of the test site, every page of which comes with a strict policy."""
    from django.conf import settings
    from django.test import override_settings
    from pytest_django.live_server_helper import LiveServer

    with override_settings(MIDDLEWARE=["tests.browser.csp.middleware", *settings.MIDDLEWARE]):
        server = LiveServer("127.0.0.1")
        yield server.url
        server.stop()


@pytest.fixture
def visits(browser: Browser, site: str, transactional_db: None) -> Iterator[Visits]:
    """Visits to the site, in the course of which the browser must not complain of anything."""
    from .visits import Visits

    visits = Visits(browser, site)
    yield visits
    visits.end()
    assert visits.complaints == []


@pytest.fixture(params=[True, False], ids=["script", "no-script"])
def scripting(request: pytest.FixtureRequest) -> bool:
    """Whether the browser runs scripts."""
    return bool(request.param)


@pytest.fixture
def tick(
    database_url: str, process_environment: Callable[[str], dict[str, str]]
) -> Callable[[], None]:
    """Let a scheduler, a process as in production, tick once on the database of the site."""

    def tick() -> None:
        scheduler = [sys.executable, "-m", "django", "run_dyncron", "--once"]
        command = [*scheduler, "--replica-id", "web-1", "--settings", "tests.browser.settings"]
        subprocess.run(command, env=process_environment(database_url), check=True, timeout=60)

    return tick


@pytest.fixture
def operator(transactional_db: None) -> Client:
    """Somebody who may do anything, on a site with jobs in every state, and with a history."""
    from django.contrib.auth.models import Group, User
    from django.test import Client
    from django.utils import timezone

    from django_dyncron.models import CronRun, Replica
    from tests.django.admin_pages import TASK, a_job

    ann = User.objects.create_superuser("ann")
    Group.objects.create(name="editors")
    a_job("broken", last_error="InvalidCronExpression: no", cron_expression="* * * *")
    a_job("paused", is_active=False, pause_reason="deploy")
    a_job("failing", last_error="boom")
    a_job("newsletter", description="Every morning.")
    for number, status in enumerate(("succeeded", "failed", "skipped", "running", "lost")):
        moment = timezone.now() - timedelta(minutes=number + 1)
        CronRun.objects.create(
            id=UUID(int=number),
            job_id="newsletter",
            task_name=TASK,
            scheduled_for=moment,
            created_at=moment,
            status=status,
            error="boom" if status == "failed" else "",
            replica="web-1",
        )
    for replica_id, seconds in (("web-1", 5), ("web-2", 900)):
        moment = timezone.now() - timedelta(seconds=seconds)
        Replica.objects.create(
            replica_id=replica_id, seen_at=moment, tick_interval_seconds=30, version="0.1"
        )
    client = Client()
    client.force_login(ann)
    return client
