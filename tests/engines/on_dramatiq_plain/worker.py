"""What ``dramatiq`` is told to import: Django first, then its own arguments name the broker."""

from __future__ import annotations

import django

django.setup()

from tests.engines.on_dramatiq_plain.brokers import reports  # noqa: E402

__all__ = ["reports"]
