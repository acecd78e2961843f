"""The Celery app, as a project has it."""

from __future__ import annotations

from celery import Celery

app = Celery("on_celery")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
