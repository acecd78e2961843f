"""The tables of django-tasks-db, which is no app of the tests otherwise."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.test import modify_settings, override_settings

from tests.depot import tasks as depot
from tests.django.task_rows.rows import DATABASE, backend
from tests.shop import tasks as shop


@pytest.fixture(autouse=True)
def _task_tables(transactional_db: None) -> Iterator[None]:
    """The tables of django-tasks-db, whose backend is the default one, and apps with tasks."""
    shop.calls.clear()
    shop.runs.clear()
    depot.calls.clear()
    apps = ["django_tasks_db", "tests.shop", "tests.depot", "tests.engines.on_django_tasks_db"]
    with (
        modify_settings(INSTALLED_APPS={"append": apps}),
        override_settings(TASKS={"default": backend(DATABASE, "default", "reports")}),
    ):
        call_command("migrate", "django_tasks_database", verbosity=0)
        from django_tasks_db.models import DBTaskResult

        yield
        # The tables stay: their migrations cannot be undone.
        DBTaskResult.objects.all().delete()
