"""The Django app."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class DyncronConfig(AppConfig):
    """Registers the system checks and finds the tasks of the other apps."""

    name = "django_dyncron"
    verbose_name = _("Cron jobs")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from . import checks  # noqa: F401
        from .conf import load_hook_modules, read_settings
        from .registry import discover_tasks

        settings = read_settings()[0]
        load_hook_modules(settings)
        discover_tasks()
        if settings.ping_urls:
            from . import pings

            pings.connect()
