"""Text that others have written, made fit for a terminal, a database or a program."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from django_dyncron.core.text import first_line, iso_utc, printable


@pytest.mark.parametrize(
    "text, shown",
    [
        ("Löhne – 給料", "Löhne – 給料"),
        ("two\nlines\tand\N{NO-BREAK SPACE}more", "two lines and more"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("file \udce9", "file \\udce9"),
        ("\N{RIGHT-TO-LEFT OVERRIDE}abc", "\\u202eabc"),
    ],
)
def test_a_terminal_is_shown_what_nobody_can_see(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_of_what_a_database_says_the_first_line_is_told() -> None:
    assert first_line(ValueError("\nno such row\nDETAIL: secret")) == "no such row"
    assert first_line(ValueError()) == "ValueError"


def test_moments_are_written_in_utc() -> None:
    half_past = datetime(2026, 11, 30, 14, 30, tzinfo=timezone(timedelta(hours=2)))
    assert iso_utc(half_past) == "2026-11-30T12:30:00Z"
    assert iso_utc(half_past, "minutes") == "2026-11-30T12:30Z"
    assert iso_utc(datetime(2026, 11, 30, 12, 0, 1, 500, UTC)) == "2026-11-30T12:00:01.000500Z"
