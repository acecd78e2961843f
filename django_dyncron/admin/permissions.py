"""Permissions on cron jobs that Django does not have by itself."""

from __future__ import annotations

from django.http import HttpRequest

from .database import Base


class JobPermissionsMixin(Base):
    """Asks for ``run_cronjob`` and ``pause_cronjob``."""

    def has_run_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(f"{self.opts.app_label}.run_cronjob")

    def has_pause_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(f"{self.opts.app_label}.pause_cronjob")
