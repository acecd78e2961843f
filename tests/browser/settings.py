"""Settings of the scheduler that the tests start: it may run the tasks of their jobs."""

from __future__ import annotations

from tests.settings import *  # noqa: F403

DYNCRON = {"ALLOWED_TASKS": ["tests.django.admin_pages.*"]}
