"""The planned load in the admin: what is drawn, what is told in numbers, how long it is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.core.cache import cache
from django.core.cache.backends.base import BaseCache
from django.test import Client

from django_dyncron.admin.load_charts import short
from tests.django.admin_pages import a_job, client_with
from tests.django.overview_page import MONDAY, OVERVIEW, page, section, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def viewer() -> Client:
    return client_with("view_cronjob")


@time_machine.travel(MONDAY, tick=False)
def test_each_hour_of_the_week_says_how_many_runs_are_planned(viewer: Client) -> None:
    a_job("quarterly", cron_expression="*/15 9 * * MON-FRI")
    a_job("daily", cron_expression="30 6 * * *")

    week = section(page(viewer), "Seven days")

    assert "<title>Mon 30 Nov, 09:00: 4 runs</title>" in week
    assert "<title>Tue 1 Dec, 06:00: 1 run</title>" in week
    assert "<title>Sat 5 Dec, 09:00: 0 runs</title>" in week
    assert week.count("<rect") == 168
    assert "Runs planned in each hour of seven days, at most 4." in week


@time_machine.travel(MONDAY, tick=False)
def test_the_week_can_be_read_as_a_table(viewer: Client) -> None:
    a_job("quarterly", cron_expression="*/15 9 * * MON")

    table = section(page(viewer), "Seven days").split("<details>")[1]

    row = table.split("<tr>")[2]
    assert text_of(row) == "Mon 30 Nov " + " ".join(["0"] * 9 + ["4"] + ["0"] * 14)


@time_machine.travel(MONDAY, tick=False)
def test_the_next_hours_begin_with_the_present_one(viewer: Client) -> None:
    a_job("quarterly", cron_expression="*/15 9,10 * * *")

    hours = section(page(viewer), "The next 24 hours")

    titles = re.findall("<title>(.*?)</title>", hours)
    assert titles[0] == "Mon 30 Nov, 10:00: 4 runs"
    assert titles[-1] == "Tue 1 Dec, 09:00: 4 runs"
    assert len(titles) == 24


@time_machine.travel(MONDAY, tick=False)
def test_bars_are_as_high_as_there_are_runs(viewer: Client) -> None:
    a_job("four", cron_expression="*/15 11 * * *")
    a_job("one", cron_expression="0 12 * * *")

    hours = section(page(viewer), "The next 24 hours")

    heights = re.findall(r'<rect class="dyncron-load-bar".*? height="(\d+)"', hours)
    assert heights == ["0", "96", "24", *["0"] * 21]


@time_machine.travel(MONDAY, tick=False)
def test_hours_are_darker_by_magnitude(viewer: Client) -> None:
    for minutes, hour in (("0", 1), ("*/20", 2), ("*/6", 3), ("*/2", 4), ("*", 5)):
        a_job(f"at-{hour}", cron_expression=f"{minutes} {hour} * * *")

    week = section(page(viewer), "Seven days")

    looks = re.findall(r'<rect class="dyncron-load-(\d)"', week)
    assert looks[:7] == ["0", "1", "2", "3", "4", "5", "0"]


@time_machine.travel(MONDAY, tick=False)
def test_the_busiest_minutes_are_named(viewer: Client) -> None:
    for number in range(3):
        a_job(f"job-{number}", cron_expression="45 11 * * *")

    busiest = text_of(section(page(viewer), "Busiest minutes"))

    assert busiest == "Minute Runs in 1 hour, 25 minutes 2026-11-30 11:45 UTC 3"


@time_machine.travel(MONDAY, tick=False)
def test_hours_are_those_of_the_zone_of_the_request(viewer: Client, settings: Any) -> None:
    a_job("daily", cron_expression="30 6 * * *", time_zone="UTC")
    assert "<title>Tue 1 Dec, 06:00: 1 run</title>" in page(viewer)

    settings.TIME_ZONE = "Asia/Tokyo"

    html = page(viewer)
    assert "<title>Tue 1 Dec, 15:00: 1 run</title>" in html
    assert "Hours are those of Asia/Tokyo." in html


@time_machine.travel(MONDAY, tick=False)
def test_what_is_not_counted_is_admitted(viewer: Client) -> None:
    a_job("impossible", cron_expression="61 * * * *")

    assert "1 cron job is not counted." in text_of(page(viewer))


def test_what_was_counted_is_kept_for_a_minute(viewer: Client) -> None:
    with time_machine.travel(MONDAY, tick=False) as clock:
        a_job("one")
        assert "1 ● Active" in text_of(page(viewer))
        a_job("two")

        clock.shift(timedelta(seconds=40))
        kept = text_of(page(viewer))

        assert "1 ● Active" in kept
        assert "Counted 40 s ago 2026-11-30 10:20 UTC" in kept
        clock.shift(timedelta(seconds=21))
        anew = text_of(page(viewer))
        assert "2 ● Active" in anew
        assert "Counted 0 s ago" in anew


@time_machine.travel(MONDAY, tick=False)
def test_it_is_counted_again_when_asked(viewer: Client) -> None:
    page(viewer)
    a_job("one")
    assert 'href="?refresh"' in page(viewer)

    answer = viewer.get(f"{OVERVIEW}?refresh")

    assert (answer.status_code, answer.headers["Location"]) == (302, OVERVIEW)
    assert "1 ● Active" in text_of(page(viewer))


class CacheThatIsAway(BaseCache):
    """A cache whose server cannot be reached."""

    def get(self, *args: Any, **options: Any) -> Any:
        raise ConnectionError("refused")

    set = get


def test_a_cache_that_is_away_takes_nothing_away(viewer: Client, settings: Any) -> None:
    a_job("one")
    settings.CACHES = {"default": {"BACKEND": f"{__name__}.CacheThatIsAway"}}

    assert "1 ● Active" in text_of(page(viewer))
    assert viewer.get(f"{OVERVIEW}?refresh").status_code == 302


@pytest.mark.parametrize(
    "count, shown",
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (1_249, "1.2k"),
        (9_949, "9.9k"),
        (9_950, "10k"),
        (12_345, "12k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (3_400_000, "3.4M"),
        (12_000_000, "12M"),
    ],
)
def test_counts_in_a_drawing_are_short(count: int, shown: str) -> None:
    assert short(count) == shown
