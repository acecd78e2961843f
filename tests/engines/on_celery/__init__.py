"""Celery over Redis."""

from __future__ import annotations

from tests.engines.on_celery.app import app

__all__ = ["app"]
