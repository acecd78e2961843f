"""Django settings of a process that imports jobs, as the tests have them."""

from __future__ import annotations

from tests.settings import *  # noqa: F403

DYNCRON = {"ALLOWED_TASKS": ["tests.shop.tasks.*"]}
