"""What ``huey_consumer`` is started with: the instances, in a Django that is set up."""

from __future__ import annotations

import django
from django.utils.module_loading import autodiscover_modules

django.setup()
autodiscover_modules("tasks")

from tests.engines.on_huey.plain import letters, parcels  # noqa: E402

__all__ = ["letters", "parcels"]
