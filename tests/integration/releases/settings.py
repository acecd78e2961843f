"""Settings of the processes that deploy a release."""

from __future__ import annotations

from tests.integration.settings import *  # noqa: F403
from tests.integration.settings import INSTALLED_APPS as _INSTALLED_APPS

INSTALLED_APPS = [*_INSTALLED_APPS, "tests.integration.releases"]
