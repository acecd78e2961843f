"""Celery's crontab as it is understood here, held against Celery's own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from celery import schedules
from hypothesis import given, settings
from hypothesis import strategies as st

from django_dyncron.core.fields import DAY_OF_MONTH, DAY_OF_WEEK, FIELD_KINDS, FieldKind
from django_dyncron.core.schedule import CronSchedule
from django_dyncron.importers.entries import CannotImport
from django_dyncron.importers.sources._celery_crontab import CeleryCrontab

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata")
_NAMES = ("mon", "Sunday", "FRI", "jan", "December", "may")


def fields_of(kind: FieldKind) -> st.SearchStrategy[str]:
    number = st.integers(kind.low - 1, kind.high + 1).map(str) | st.sampled_from(_NAMES)
    within = st.integers(kind.low, kind.high).map(str)
    step = st.sampled_from(["", "/1", "/2", "/7", "/40", "/0", "/"])
    part = st.one_of(
        st.just("*"),
        st.just("*"),
        within,
        number,
        step.map(lambda text: f"*{text}"),
        st.builds("{}-{}{}".format, within, within, step),
        within.map(lambda text: f" {text}"),
    )
    return st.one_of(st.just("*"), st.lists(part, min_size=1, max_size=3).map(",".join))


crontabs = st.tuples(*map(fields_of, FIELD_KINDS))
instants = st.integers(1_767_000_000, 1_893_000_000).map(
    lambda seconds: datetime.fromtimestamp(seconds, UTC)
)


def celery_crontab(texts: tuple[str, ...], zone: str) -> schedules.crontab:
    minute, hour, day_of_month, month, day_of_week = texts
    made = schedules.crontab(minute, hour, day_of_week, day_of_month, month)
    made.tz = ZoneInfo(zone)
    return made


@settings(max_examples=300, deadline=None)
@given(crontabs, st.sampled_from(ZONES), instants)
def test_it_reads_and_runs_as_celerys_own(
    texts: tuple[str, ...], zone: str, instant: datetime
) -> None:
    fields = dict(zip(FIELD_KINDS, texts, strict=True))
    try:
        theirs = celery_crontab(texts, zone)
    except (ValueError, schedules.ParseException):
        with pytest.raises(CannotImport, match="Celery cannot read"):
            CeleryCrontab.read(fields, zone)
        return
    crontab = CeleryCrontab.read(fields, zone)
    last = instant
    for _ in range(4):
        theirs.nowfun = lambda last=last: last
        expected = last + theirs.remaining_estimate(last)
        assert crontab.next_after(last) == expected
        last = expected


@settings(max_examples=300, deadline=None)
@given(crontabs, instants)
def test_an_expression_names_the_same_minutes(texts: tuple[str, ...], instant: datetime) -> None:
    try:
        crontab = CeleryCrontab.read(dict(zip(FIELD_KINDS, texts, strict=True)), "UTC")
        expression = crontab.spelling().expression
    except CannotImport:
        return
    slots = CronSchedule.parse(expression).upcoming(instant, 4)
    runs = crontab.upcoming(instant)
    assert slots == [next(runs) for _ in range(4)]


@pytest.mark.parametrize("days", ["2-7", "13", "8-15"])
@pytest.mark.parametrize("weekdays", ["1", "2,4"])
def test_both_days_that_no_expression_can_name(days: str, weekdays: str) -> None:
    fields = dict.fromkeys(FIELD_KINDS, "*") | {DAY_OF_MONTH: days, DAY_OF_WEEK: weekdays}
    with pytest.raises(CannotImport, match="both") as caught:
        CeleryCrontab.read(fields, "UTC").spelling()
    assert caught.value.instead == f"* * {days} * {weekdays}"


def test_the_hour_that_comes_twice() -> None:
    fields = dict(zip(FIELD_KINDS, ["*/30", "*", "*", "*", "*"], strict=True))
    runs = CeleryCrontab.read(fields, "Europe/Berlin").upcoming(
        datetime(2027, 10, 31, 0, 10, tzinfo=UTC)
    )
    assert next(runs) == datetime(2027, 10, 31, 0, 30, tzinfo=UTC)
    # Celery goes on at 03:00, an hour and a half later.
    assert next(runs) - datetime(2027, 10, 31, 0, 30, tzinfo=UTC) == timedelta(minutes=90)
