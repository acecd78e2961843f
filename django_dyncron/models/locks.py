"""The lock table of the database lock providers."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _


class LockKeyField(models.TextField):  # type: ignore[type-arg]
    """``TEXT``, but on MySQL and MariaDB, which cannot use it as a primary key, ``VARCHAR``."""

    def db_type(self, connection: Any) -> str:
        return "varchar(512)" if connection.vendor == "mysql" else "text"


class CronLock(models.Model):
    """A lock held by somebody until ``expires_at``; ``owner`` is the holder's token."""

    lock_key = LockKeyField(primary_key=True)
    expires_at = models.DateTimeField()
    owner = models.CharField(max_length=64, default="", db_default="")

    class Meta:
        verbose_name = _("lock")
        verbose_name_plural = _("locks")

    def __str__(self) -> str:
        return str(self.lock_key)
