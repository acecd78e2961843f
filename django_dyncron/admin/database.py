"""Where the admin reads and writes: the scheduler's own database, whatever the router says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db import models
from django.http import HttpRequest

from ..conf import database_alias, read_settings

if TYPE_CHECKING:
    Base = admin.ModelAdmin[Any]
else:
    Base = object


class SchedulerDatabaseMixin(Base):
    """Reads from and writes to the database that the scheduler uses."""

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        return super().get_queryset(request).using(_alias())

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        obj.save(using=_alias())

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        obj.delete(using=_alias())


class ReadOnlyMixin(Base):
    """Shows what only the scheduler writes."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def _alias() -> str:
    return database_alias(read_settings()[0])
