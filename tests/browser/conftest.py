"""Fixtures of the tests in a browser: the site under a strict policy, and visits to it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
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
