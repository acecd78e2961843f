"""Filters of the admin's lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import PAGE_VAR
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from ..models import CronJob, CronRun, Origin
from ..outlook import JobState, overdue, planning_rules, rows_in
from .marks import JOB_STATES, OVERDUE

_OVERDUE = "overdue"
_BY_HAND = "hand"
_VANISHED = "vanished"
_COLUMNS = ("queue", "task_name", "time_zone", "origin")
_LOOKED_AT = 5_000
_MOST_OFFERED = 50
_KEY = "_dyncron_newest_values"


class StateFilter(admin.SimpleListFilter):
    """Cron jobs by state, as the last tick left them, and those that wait for it in vain."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[Any, Any]]:
        states = [(str(state), words) for state, words in JOB_STATES.items()]
        return [*states, (_OVERDUE, OVERDUE)]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[CronJob]
    ) -> QuerySet[CronJob] | None:
        if self.value() == _OVERDUE:
            return queryset.filter(overdue(timezone.now(), planning_rules()))
        if self.value() not in list(JobState):
            return queryset
        return queryset.filter(rows_in(JobState(str(self.value()))))


class ValueFilter(admin.SimpleListFilter):
    """Cron jobs by the value of a column: one that is offered or, if there may be more, typed.

    What is offered are the values of the newest rows: to find all there are takes a look at every
    row of the table.
    """

    template = "django_dyncron/value_filter.html"
    empty_words: Any = _("Empty")

    def __init__(self, request: HttpRequest, params: dict[str, Any], *args: Any) -> None:
        column = str(self.parameter_name)
        self.typed_name = f"{column}__icontains"
        self.typed = str(params.pop(self.typed_name, [""])[-1])
        self.kept = [
            (name, value)
            for name, values in request.GET.lists()
            if name not in (column, self.typed_name, PAGE_VAR)
            for value in values
        ]
        self.may_have_more = False
        super().__init__(request, params, *args)

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[Any, Any]]:
        rows = _newest_values(request, model_admin)
        values = sorted({row[_COLUMNS.index(str(self.parameter_name))] for row in rows})
        is_too_many = len(values) > _MOST_OFFERED
        self.may_have_more = is_too_many or len(rows) == _LOOKED_AT
        if is_too_many or (len(values) < 2 and not self.may_have_more and not self.value()):
            return []
        return [(value, value or self.empty_words) for value in values]

    def has_output(self) -> bool:
        # One that has none is not asked for its rows either.
        return self.may_have_more or bool(self.typed or self.used_parameters or self.lookup_choices)

    def expected_parameters(self) -> list[str | None]:
        return [self.parameter_name, self.typed_name]

    def choices(self, changelist: Any) -> Iterator[Any]:
        values = [None, *(offered[0] for offered in self.lookup_choices)]
        for value, choice in zip(values, super().choices(changelist), strict=True):
            # Instead of what is typed, not besides.
            query = changelist.get_query_string({self.parameter_name: value}, [self.typed_name])
            is_selected = choice["selected"] and not self.typed
            yield choice | {"query_string": query, "selected": is_selected}

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[CronJob]
    ) -> QuerySet[CronJob] | None:
        if self.typed:
            queryset = queryset.filter(**{self.typed_name: self.typed})
        value = self.value()
        return queryset if value is None else queryset.filter(**{f"{self.parameter_name}": value})


def _newest_values(request: Any, model_admin: Any) -> list[tuple[str, ...]]:
    """Return the columns there are filters for, read once a request."""
    if not hasattr(request, _KEY):
        rows = model_admin.get_queryset(request).order_by("-pk").values_list(*_COLUMNS)
        setattr(request, _KEY, list(rows[:_LOOKED_AT]))
    values: list[tuple[str, ...]] = getattr(request, _KEY)
    return values


class QueueFilter(ValueFilter):
    """Cron jobs by queue."""

    title = _("queue")
    parameter_name = "queue"


class TaskFilter(ValueFilter):
    """Cron jobs by task."""

    title = _("task")
    parameter_name = "task_name"


class TimeZoneFilter(ValueFilter):
    """Cron jobs by time zone."""

    title = _("time zone")
    parameter_name = "time_zone"
    empty_words = _("The project’s")


class OriginFilter(admin.SimpleListFilter):
    """Cron jobs by where they came from, and those no longer declared in code.

    Not offered where all are made by hand, as far as the newest rows tell.
    """

    title = _("origin")
    parameter_name = "origin"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[Any, Any]]:
        rows = _newest_values(request, model_admin)
        column = _COLUMNS.index("origin")
        if len(rows) < _LOOKED_AT and not self.value() and not any(row[column] for row in rows):
            return []
        origins = CronJob._meta.get_field("origin").flatchoices
        offered = [(value or _BY_HAND, words) for value, words in origins]
        return [*offered, (_VANISHED, _("no longer declared"))]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[CronJob]
    ) -> QuerySet[CronJob] | None:
        value = self.value()
        if value is None:
            return queryset
        if value == _VANISHED:
            return queryset.filter(has_vanished=True)
        return queryset.filter(origin=Origin.HAND if value == _BY_HAND else value)


class JobFilter(admin.SimpleListFilter):
    """Runs of one job. Offers only the job that a link has asked for: there may be thousands."""

    title = _("cron job")
    parameter_name = "job"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Iterable[tuple[Any, Any]]:
        asked = request.GET.get(self.parameter_name)
        return [(asked, asked)] if asked else []

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[CronRun]
    ) -> QuerySet[CronRun] | None:
        return queryset.filter(job_id=self.value()) if self.value() else queryset
