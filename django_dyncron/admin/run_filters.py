"""Filters of the list of runs that offer what the settings say, not what a million rows hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from ..conf import read_settings
from ..conf.enqueuers import DEFAULT, enqueuer_names
from ..models import CronRun


class EnqueuerFilter(admin.SimpleListFilter):
    """Runs of one queue system; not shown where there is only one."""

    title = _("queue system")
    parameter_name = "enqueuer"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[Any, Any]]:
        names = enqueuer_names(read_settings()[0])
        return [(name, name) for name in names] if len(names) > 1 else []

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[CronRun]
    ) -> QuerySet[CronRun] | None:
        if not self.value():
            return queryset
        # A blank name is the default one.
        names = ["", DEFAULT] if self.value() == DEFAULT else [self.value()]
        return queryset.filter(enqueuer__in=names)
