"""The pages that queues have about their tasks in the admin."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import include, path

from django_dyncron.enqueuers.celery import CeleryTaskEnqueuer
from django_dyncron.enqueuers.local import LocalTaskEnqueuer
from django_dyncron.enqueuers.rq import RqTaskEnqueuer

CELERY = "tests.engines.on_celery.app.app"
PROJECT = """
import json
import django
from django.conf import settings
from django.contrib import admin
from django.urls import path

settings.configure(
    INSTALLED_APPS=[
        "django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes",
        "django.contrib.messages", "django.contrib.sessions", "django_dyncron",
        "django_rq", "django_tasks_db", "procrastinate.contrib.django",
    ],
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "nowhere"}},
    RQ_QUEUES={"slow": {"URL": "redis://127.0.0.1:9"}, "fast": {"URL": "redis://127.0.0.1:9"}},
    TASKS={"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}},
    SECRET_KEY="only for tests", ROOT_URLCONF=__name__, USE_TZ=True,
)
django.setup()
urlpatterns = [path("staff/", admin.site.urls)]

from django_dyncron.enqueuers.django_tasks import DjangoTasksEnqueuer
from django_dyncron.enqueuers.procrastinate import ProcrastinateTaskEnqueuer
from django_dyncron.enqueuers.rq import RqTaskEnqueuer

print(json.dumps([
    RqTaskEnqueuer().task_url("0815", "slow"),
    RqTaskEnqueuer().task_url("0815", "gone"),
    DjangoTasksEnqueuer().task_url("3f0e", "default"),
    ProcrastinateTaskEnqueuer().task_url("4711", "default"),
]))
"""


def _no_view(request: HttpRequest) -> HttpResponse:
    """Stand in for the pages of a package that is not installed here."""
    return HttpResponse()


results = [path("results/", _no_view, name="django_celery_results_taskresult_changelist")]
urlpatterns = [path("staff/", include((results, "admin")))]


@pytest.fixture
def _results_of_celery() -> Iterator[None]:
    with override_settings(ROOT_URLCONF=__name__):
        yield


def test_packages_of_queues_bring_pages_along() -> None:
    project = subprocess.run(
        [sys.executable, "-c", PROJECT], capture_output=True, text=True, timeout=60, check=True
    )

    assert json.loads(project.stdout) == [
        "/staff/django_rq/dashboard/queues/1/0815/",
        None,
        "/staff/django_tasks_database/dbtaskresult/3f0e/change/",
        "/staff/procrastinate/procrastinatejob/4711/change/",
    ]


@pytest.mark.usefixtures("_results_of_celery")
def test_results_of_celery_are_found_by_the_id_of_the_task() -> None:
    address = CeleryTaskEnqueuer(CELERY).task_url("a&b", "default")

    assert address == "/staff/results/?task_id=a%26b"


def test_without_such_a_package_there_is_no_page() -> None:
    assert CeleryTaskEnqueuer(CELERY).task_url("0815", "default") is None
    assert RqTaskEnqueuer("redis://127.0.0.1:9").task_url("0815", "default") is None
    assert LocalTaskEnqueuer().task_url("0815", "default") is None
