"""Text fit for a line, a terminal, a database or a program, whatever others have put into it."""

from __future__ import annotations

from datetime import UTC, datetime


def one_line(error: BaseException, *, with_type: bool = False) -> str:
    """Return an error as one readable line, with its type where the words may not say enough."""
    try:
        text = storable(" ".join(str(error).split()))
    except Exception:
        # A class whose words cannot be had is still named.
        text = ""
    if with_type or not text:
        return f"{type(error).__name__}: {text}" if text else type(error).__name__
    return text


def first_line(error: BaseException) -> str:
    """Return the first line of an error: in those below it databases quote whole rows."""
    lines = storable(str(error)).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def storable(text: str) -> str:
    """Return ``text`` as any database can hold it: an error may quote anything.

    PostgreSQL's text has no NUL, and a lone surrogate (a file name that is no text) no encoding.
    """
    if text.isascii() and "\0" not in text:
        return text
    replaced = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return replaced.encode("utf-8", "replace").decode("utf-8")


def printable(text: str) -> str:
    """Return ``text`` on one line, fit for a terminal: anybody names jobs.

    White space becomes a blank; what nobody can see is spelled out, so that names stay apart.
    """
    return "".join(each if each.isprintable() else _spelled_out(each) for each in text)


def _spelled_out(char: str) -> str:
    return " " if char.isspace() else ascii(char)[1:-1]


def iso_utc(moment: datetime, timespec: str = "auto") -> str:
    """Return ``2026-11-30T02:57:10Z``; ``timespec`` is as for :meth:`datetime.isoformat`."""
    return moment.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")
