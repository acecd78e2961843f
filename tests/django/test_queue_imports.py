"""No queue's client is imported but that of the queue in use."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CLIENTS = (
    "celery",
    "kombu",
    "rq",
    "django_rq",
    "dramatiq",
    "huey",
    "procrastinate",
    "django_tasks",
)
USED_BY = {
    "celery": {"celery", "kombu"},
    "rq": {"rq", "django_rq"},
    "dramatiq": {"dramatiq"},
    "huey": {"huey"},
    "procrastinate": {"procrastinate"},
    "django_tasks_db": {"django_tasks"},
}
USE = """
import django
django.setup()
from django_dyncron.conf import get_settings, load_enqueuers
load_enqueuers(get_settings())
import django_dyncron.tasks
"""


def clients_after(code: str, settings: str = "tests.settings") -> set[str]:
    """Return the clients that a new process has imported once it has run ``code``."""
    told = f"{code}\nimport sys\nprint(*sys.modules.keys() & set({CLIENTS!r}))"
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": settings}
    environment.pop("DYNCRON_TEST_DATABASE_URL", None)
    done = subprocess.run(
        [sys.executable, "-c", told],
        check=True,
        capture_output=True,
        text=True,
        env=environment | {"DYNCRON_TEST_QUEUE_URL": "redis://127.0.0.1:9/0"},
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("code", ["import django_dyncron", "import django; django.setup()", USE])
def test_without_a_queue_no_client_is_imported(code: str) -> None:
    assert clients_after(code) == set()


@pytest.mark.parametrize("name", USED_BY)
def test_a_queue_in_use_imports_its_own_client_alone(name: str) -> None:
    imported = clients_after(USE, f"tests.engines.on_{name}.settings")
    # Which ``django.tasks`` there is depends on Django.
    assert imported - {"django_tasks"} == USED_BY[name] - {"django_tasks"}
