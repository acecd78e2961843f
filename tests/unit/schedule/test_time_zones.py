"""Zone names: refused when unknown, also if they were known yesterday."""

from __future__ import annotations

import zoneinfo
from datetime import UTC, datetime

import pytest

from django_dyncron.core.exceptions import InvalidCronExpression, UnknownTimeZone
from django_dyncron.core.schedule import CronSchedule
from django_dyncron.core.zones import clock_changes, load_zone
from tests.oracle import transitions

from .instants import utc, written


@pytest.mark.parametrize(
    "name, message",
    [
        ("Europe/Berln", "Time zone 'Europe/Berln' is unknown: did you mean 'Europe/Berlin'?"),
        ("europe/berlin", "Time zone 'europe/berlin' is unknown: did you mean 'Europe/Berlin'?"),
        ("Qqqq", "Time zone 'Qqqq' is unknown: use an IANA name such as 'Europe/Paris'"),
        ("", "Time zone '' is unknown: use an IANA name such as 'Europe/Paris'"),
        ("+02:00", "Time zone '+02:00' is unknown: use an IANA name such as 'Europe/Paris'"),
    ],
)
def test_an_unknown_name_is_refused(name: str, message: str) -> None:
    with pytest.raises(UnknownTimeZone) as caught:
        CronSchedule.parse("0 6 * * *", name)
    assert str(caught.value) == message
    assert (caught.value.field, caught.value.value) == ("time_zone", name)


@pytest.mark.parametrize(
    "name",
    [
        "../../../etc/passwd",
        "/etc/localtime",
        "America",
        "zone.tab",
        "tzdata.zi",
        "Europe/Berlin\x00",
        "Europe/\ud800",
        "x" * 5000,
        # Not the same on every machine, or with leap seconds.
        "localtime",
        "posixrules",
        "Factory",
        "right/Europe/Berlin",
        "posix/Europe/Berlin",
    ],
)
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(UnknownTimeZone, match="is unknown"):
        CronSchedule.parse("0 6 * * *", name)


@pytest.mark.parametrize("name", [None, 1, b"UTC", ["UTC"], object()])
def test_what_is_no_text_is_refused(name: object) -> None:
    with pytest.raises(UnknownTimeZone, match="A time zone is a name such as"):
        CronSchedule.parse("0 6 * * *", name)  # type: ignore[arg-type]
    assert issubclass(UnknownTimeZone, InvalidCronExpression)


def test_a_zone_that_vanished_is_refused_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def without_paris(name: str) -> zoneinfo.ZoneInfo:
        if name == "Europe/Paris":
            raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {name}")
        return zoneinfo.ZoneInfo(name)

    monkeypatch.setattr("django_dyncron.core.zones.ZoneInfo", without_paris)
    with pytest.raises(UnknownTimeZone, match="'Europe/Paris' is unknown"):
        CronSchedule.parse("1 2 3 4 *", "Europe/Paris")
    berlin = CronSchedule.parse("1 2 3 4 *", "Europe/Berlin")
    assert berlin.next_after(utc("2026-01-01T00:00Z")) == utc("2026-04-03T00:01Z")


def test_every_clock_change_is_found_to_the_minute() -> None:
    first = int(utc("2015-01-01T00:00Z").timestamp()) // 60
    last = int(utc("2038-01-01T00:00Z").timestamp()) // 60
    for name, instants in transitions(2015, 2037).items():
        found = [change.at * 60 for change in clock_changes(load_zone(name), first, last)]
        assert found == [int(instant.timestamp()) for instant in instants], name


def test_two_changes_within_a_week_are_found_wherever_the_search_begins() -> None:
    # Gaza in 2040: forward on 20 October at 00:00 UTC, back on the 26th at 23:00 UTC.
    gaza = load_zone("Asia/Gaza")
    end = int(utc("2040-11-15T00:00Z").timestamp()) // 60
    for half_hours in range(7 * 48):
        low = int(utc("2040-10-13T00:00Z").timestamp()) // 60 + 30 * half_hours
        found = [
            datetime.fromtimestamp(change.at * 60, UTC) for change in clock_changes(gaza, low, end)
        ]
        assert written(found) == ["2040-10-20T00:00Z", "2040-10-26T23:00Z"]


def test_offsets_with_seconds_count_in_whole_minutes() -> None:
    # Liberia kept 44 minutes and 30 seconds behind UTC until 1972.
    monrovia = CronSchedule.parse("0 0 * * *", "Africa/Monrovia")
    assert monrovia.next_after(utc("1971-06-01T00:00Z")) == utc("1971-06-01T00:45Z")
    assert monrovia.next_after(utc("1973-06-01T00:00Z")) == utc("1973-06-02T00:00Z")
