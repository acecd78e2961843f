"""Every refusal names the field, the value and what to write instead."""

from __future__ import annotations

import pytest
from croniter import CroniterBadCronError

from django_dyncron.core.exceptions import DyncronError, InvalidCronExpression
from django_dyncron.core.schedule import CronSchedule

from .instants import utc, written

TO = "\u2013"

BY_FIELD = [
    ("60 * * * *", "minute", "60", f"Minute '60': use 0{TO}59"),
    ("0 24 * * *", "hour", "24", f"Hour '24': use 0{TO}23"),
    ("0 0 0 * *", "day_of_month", "0", f"Day of month '0': use 1{TO}31"),
    ("0 0 32W * *", "day_of_month", "32W", f"Day of month '32W': use 1{TO}31"),
    ("0 0 1 13 *", "month", "13", f"Month '13': use 1{TO}12 or JAN{TO}DEC"),
    ("0 0 * * 8", "day_of_week", "8", f"Day of week '8': use 0{TO}7 or SUN{TO}SAT"),
    ("0 0 * * 8#1", "day_of_week", "8#1", f"Day of week '8#1': use 0{TO}7 or SUN{TO}SAT"),
    ("0 0 1 january *", "month", "january", "Month 'january': use JAN"),
    ("0 0 * * Monday", "day_of_week", "Monday", "Day of week 'Monday': use MON"),
    ("0 22-2 * * *", "hour", "22-2", "Hour '22-2': ranges do not wrap around, use 22,23,0-2"),
    (
        "0 22-4/2 * * *",
        "hour",
        "22-4/2",
        "Hour '22-4/2': ranges do not wrap around, use 22,0,2,4",
    ),
    (
        "0 0 * * FRI-MON",
        "day_of_week",
        "FRI-MON",
        "Day of week 'FRI-MON': ranges do not wrap around, use FRI,SAT,SUN,MON",
    ),
    (
        "0 0 * NOV-MAR *",
        "month",
        "NOV-MAR",
        "Month 'NOV-MAR': ranges do not wrap around, use NOV,DEC,JAN-MAR",
    ),
    (
        "0 0 * * 7-2",
        "day_of_week",
        "7-2",
        "Day of week '7-2': ranges do not wrap around, use 0-2",
    ),
    ("0 0 1 JAN-JAN *", "month", "JAN-JAN", "Month 'JAN-JAN': the range holds one value, use JAN"),
    (
        "59/15 * * * *",
        "minute",
        "59/15",
        "Minute '59/15': a step from the last value leads nowhere, use 59 or */15",
    ),
    (
        "0 23/1 * * *",
        "hour",
        "23/1",
        "Hour '23/1': a step from the last value leads nowhere, use 23 or */1",
    ),
    (
        "0 0 * * 1/2",
        "day_of_week",
        "1/2",
        "Day of week '1/2': a start and a step do not go with days of the week, use 1-6/2",
    ),
    (
        "0 0 * * SAT/2",
        "day_of_week",
        "SAT/2",
        "Day of week 'SAT/2': a start and a step do not go with days of the week, use 6",
    ),
    (
        "0-59/0 * * * *",
        "minute",
        "0-59/0",
        "Minute '0-59/0': a step of 0 never moves on, use 1 or more",
    ),
    ("*/x * * * *", "minute", "*/x", "Minute '*/x': 'x' is not a step, use a number such as 5"),
    (
        "*-5 * * * *",
        "minute",
        "*-5",
        "Minute '*-5': '*' has no end, use '*' alone or a range such as 1-5",
    ),
    (
        "1,,2 * * * *",
        "minute",
        "",
        "Minute '': a value is missing, remove the comma or fill it in",
    ),
    (
        "? * * * *",
        "minute",
        "?",
        f"Minute '?': not understood, use 0{TO}59, '*', or ranges and steps of them",
    ),
    (
        "0 0 L-3 * *",
        "day_of_month",
        "L-3",
        f"Day of month 'L-3': not understood, use 1{TO}31, '*', or ranges and steps of them",
    ),
    (
        "R * * * *",
        "minute",
        "R",
        "Minute 'R': a random value would differ on every replica, use H",
    ),
    (
        "0 0 * * L",
        "day_of_week",
        "L",
        "Day of week 'L': say the last what, such as L5 for the last Friday",
    ),
    (
        "0 0 * * MON#6",
        "day_of_week",
        "MON#6",
        "Day of week 'MON#6': after '#' use 1 to 5, or L5 for the last Friday",
    ),
    (
        "H * * * *",
        "minute",
        "H",
        "Minute 'H': H picks a value by the job id, which is not known here",
    ),
    (
        "0 0 30 2 *",
        "day_of_month",
        "30",
        "Day of month '30': never fires, as month '2' has no such day",
    ),
    (
        "0 0 31 2,4,6 *",
        "day_of_month",
        "31",
        "Day of month '31': never fires, as month '2,4,6' has no such day",
    ),
    (
        "0 0 31W APR *",
        "day_of_month",
        "31W",
        "Day of month '31W': never fires, as month '4' has no such day",
    ),
    (
        "0 0 */20 * L6",
        "day_of_month",
        "*/20",
        "Day of month '*/20': never fires, as it is never 'L6'",
    ),
    (
        "0 0 */30 2 MON#5",
        "day_of_month",
        "*/30",
        "Day of month '*/30': never fires, as it is never '1#5' in month '2'",
    ),
]

OF_THE_WHOLE = [
    (
        "",
        (
            "The expression is empty: write five fields (minute, hour, day of month, month, day of"
            " week), such as '0 6 * * *'"
        ),
    ),
    (
        "  \t ",
        (
            "The expression is empty: write five fields (minute, hour, day of month, month, day of"
            " week), such as '0 6 * * *'"
        ),
    ),
    (
        "5",
        "The expression has 1 field: use five (minute, hour, day of month, month, day of week)",
    ),
    (
        "* * * *",
        "The expression has 4 fields: use five (minute, hour, day of month, month, day of week)",
    ),
    (
        "* * * * * *",
        (
            "The expression has 6 fields: there are no seconds here, use five (minute, hour, day of"
            " month, month, day of week)"
        ),
    ),
    (
        "0 * * * * * 2026",
        (
            "The expression has 7 fields: there are neither seconds nor years here, use five"
            " (minute, hour, day of month, month, day of week)"
        ),
    ),
    (
        "@reboot",
        "'@reboot' names no time, and many replicas have no common boot: choose a schedule",
    ),
    (
        "@every 5m",
        "'@every' depends on when it was started: use steps, such as '*/5 * * * *'",
    ),
    (
        "@fortnightly",
        (
            "'@fortnightly' is no alias: use one of @hourly, @daily, @midnight, @weekly, @monthly,"
            " @yearly, @annually"
        ),
    ),
    ("0 9\u201317 * * *", r"The expression holds '\u2013': use plain ASCII characters only"),
    ("0\u00a00 * * *", r"The expression holds '\xa0': use plain ASCII characters only"),
    ("0 0 * *\n*", r"The expression holds '\n': use plain ASCII characters only"),
    ("\u0660 * * * *", r"The expression holds '\u0660': use plain ASCII characters only"),
    ("0" * 248 + " * * * *", "The expression has 256 characters: use at most 255"),
]


@pytest.mark.parametrize("expression, field, value, message", BY_FIELD)
def test_a_bad_field_is_named(expression: str, field: str, value: str, message: str) -> None:
    with pytest.raises(InvalidCronExpression) as caught:
        CronSchedule.parse(expression)
    assert (caught.value.field, caught.value.value, str(caught.value)) == (field, value, message)


@pytest.mark.parametrize("expression, message", OF_THE_WHOLE)
def test_a_bad_whole_is_explained(expression: str, message: str) -> None:
    with pytest.raises(InvalidCronExpression) as caught:
        CronSchedule.parse(expression)
    assert (caught.value.field, str(caught.value)) == ("expression", message)


@pytest.mark.parametrize("expression", [None, 5, 5.0, True, b"* * * * *", [], {}, object()])
def test_what_is_no_text_is_refused(expression: object) -> None:
    with pytest.raises(InvalidCronExpression, match="A cron expression is text"):
        CronSchedule.parse(expression, hash_id="job")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "policy, field, message",
    [
        ({"dst_gap": "later"}, "dst_gap", "dst_gap 'later' is unknown: use one of run_after, skip"),
        (
            {"dst_fold": "twice"},
            "dst_fold",
            "dst_fold 'twice' is unknown: use one of first, second, both",
        ),
        ({"dst_fold": []}, "dst_fold", "dst_fold [] is unknown: use one of first, second, both"),
        ({"dst_gap": None}, "dst_gap", "dst_gap None is unknown: use one of run_after, skip"),
    ],
)
def test_an_unknown_policy_is_refused(policy: dict[str, str], field: str, message: str) -> None:
    with pytest.raises(InvalidCronExpression) as caught:
        CronSchedule.parse("0 6 * * *", **policy)
    assert (caught.value.field, str(caught.value)) == (field, message)


def test_what_only_croniter_refuses_is_our_error_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(expression: str) -> None:
        raise CroniterBadCronError(f"[{expression}] is not acceptable")

    monkeypatch.setattr("django_dyncron.core.dialect.croniter.expand", refuse)
    with pytest.raises(InvalidCronExpression, match="Hour '1-23/22': not accepted by croniter"):
        CronSchedule.parse("0 1-23/22 * * *")


def test_a_hash_id_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidCronExpression, match="A hash_id is the job id as text, not 7"):
        CronSchedule.parse("H * * * *", hash_id=7)  # type: ignore[arg-type]


@pytest.mark.parametrize("dst_gap", ["run_after", "skip"])
def test_what_always_falls_into_the_spring_gap_is_refused(dst_gap: str) -> None:
    # The second Sunday of March is the very day on which New York's clocks skip 02:00 to 02:59.
    with pytest.raises(InvalidCronExpression, match=r"never fires in America/New_York"):
        CronSchedule.parse("* 2 * 3 SUN#2", "America/New_York", dst_gap=dst_gap)


def test_a_fixed_time_in_the_spring_gap_is_refused_only_if_it_is_skipped() -> None:
    made_up = CronSchedule.parse("30 2 * 3 SUN#2", "America/New_York", dst_gap="run_after")
    assert written(made_up.upcoming(utc("2026-01-01T00:00Z"), 1)) == ["2026-03-08T07:00Z"]
    with pytest.raises(InvalidCronExpression, match=r"never fires in America/New_York"):
        CronSchedule.parse("30 2 * 3 SUN#2", "America/New_York", dst_gap="skip")


def test_the_error_is_a_value_error_of_ours() -> None:
    assert issubclass(InvalidCronExpression, ValueError)
    assert issubclass(InvalidCronExpression, DyncronError)
