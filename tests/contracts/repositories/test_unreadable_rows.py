"""A value that cannot be read marks its job as broken, and holds up nobody else."""

from __future__ import annotations

import pytest

from tests.contracts.repositories.sites import DatabaseSite, at, slots_of

UNREADABLE = "The row holds a value that cannot be read: "


async def spoil(site: DatabaseSite, column: str, value: str) -> None:
    await site.execute(
        f"UPDATE django_dyncron_cronjob SET {column} = {value} WHERE job_id = 'spoilt'"
    )


async def assert_broken_alone(site: DatabaseSite) -> None:
    """Claim the good job's slot of 12:01 and find the spoilt one marked and left alone."""
    batch = await site.claim("12:01:00")
    assert slots_of(batch) == [("good", "12:01")]
    assert [plan.error.startswith(UNREADABLE) for _, plan in batch.plans if plan.error] == [True]
    last_error = await site.last_error("spoilt")
    assert last_error.startswith(UNREADABLE)
    horizon = await site.repository.look_ahead(at("12:01:00"))
    assert (horizon.has_work, horizon.next_due_at) == (False, at("12:02:00"))


@pytest.mark.parametrize(
    "column, value",
    [
        ("ends_at", "'infinity'"),
        ("starts_at", "'-infinity'"),
        ("ends_at", "'12000-01-01T00:00Z'"),
        ("starts_at", "'0044-03-15 00:00:00+00 BC'"),
        ("payload", "('{\"n\": 1' || repeat('0', 5000) || '}')::jsonb"),
    ],
)
async def test_what_postgres_stores_and_python_cannot_hold(
    postgres: DatabaseSite, column: str, value: str
) -> None:
    await postgres.add("good")
    await postgres.add("spoilt")
    await postgres.planned()
    await spoil(postgres, column, value)
    await assert_broken_alone(postgres)
    await spoil(postgres, column, "DEFAULT")
    await spoil(postgres, "cron_expression", "'*/2 * * * *'")
    await postgres.claim("12:01:10")
    assert await postgres.last_error("spoilt") == ""


@pytest.mark.parametrize(
    "cursor",
    ["infinity", "-infinity", "12000-01-01T00:00Z", "1960-01-01T00:00Z", "0044-03-15 00:00+00 BC"],
)
async def test_a_cursor_that_can_be_none_is_planned_anew(
    postgres: DatabaseSite, cursor: str
) -> None:
    await postgres.add("good")
    await postgres.add("spoilt")
    await postgres.planned()
    await spoil(postgres, "next_run_at", f"'{cursor}'")
    assert (await postgres.repository.look_ahead(at("12:00:40"))).needs_planning
    batch = await postgres.claim("12:00:40")
    assert (len(batch.plans), batch.runs) == (1, [])
    horizon = await postgres.repository.look_ahead(at("12:00:40"))
    assert (horizon.has_work, horizon.next_due_at) == (False, at("12:01:00"))
    batch = await postgres.claim("12:01:00")
    assert sorted(slots_of(batch)) == [("good", "12:01"), ("spoilt", "12:01")]


@pytest.mark.parametrize(
    "column, value",
    [
        ("cron_expression", "CAST('* * * * *' AS BLOB)"),
        ("cron_expression", "CAST(x'ff' AS TEXT)"),
        ("time_zone", "x'00ff'"),
        ("ends_at", "'2030-13-01 00:00:00'"),
        ("max_run_seconds", "'long'"),
    ],
)
async def test_what_sqlite_stores_whatever_the_column_says(
    sqlite: DatabaseSite, column: str, value: str
) -> None:
    await sqlite.add("good")
    await sqlite.add("spoilt")
    await sqlite.planned()
    await spoil(sqlite, column, value)
    await assert_broken_alone(sqlite)


@pytest.mark.parametrize("cursor", ["12", "'tomorrow'", "'1960-01-01 00:00:00'", "x'01'"])
async def test_a_cursor_that_is_no_moment_is_planned_anew(
    sqlite: DatabaseSite, cursor: str
) -> None:
    await sqlite.add("spoilt")
    await sqlite.planned()
    await spoil(sqlite, "next_run_at", cursor)
    assert (await sqlite.repository.look_ahead(at("12:00:40"))).needs_planning
    assert len((await sqlite.claim("12:00:40")).plans) == 1
    assert slots_of(await sqlite.claim("12:01:00")) == [("spoilt", "12:01")]


async def test_a_cursor_on_no_day_is_found_when_it_comes_up(sqlite: DatabaseSite) -> None:
    await sqlite.add("good", "5 13 * * *")
    await sqlite.add("spoilt")
    await sqlite.planned()
    await spoil(sqlite, "next_run_at", "'2030-01-01 12:61:00'")
    horizon = await sqlite.repository.look_ahead(at("12:01:00"))
    assert (horizon.has_work, horizon.next_due_at) == (False, at("13:05:00"))
    batch = await sqlite.claim("13:05:00")
    assert slots_of(batch) == [("good", "13:05")]
    assert (await sqlite.last_error("spoilt")).startswith(UNREADABLE)
