"""What a source hands over: entries with the columns of a cron job, or the reason why not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ..core.exceptions import DyncronError

Runs = Callable[[datetime], Iterator[datetime]]
"""Yields when the source itself would run something after an instant, ascending; aware."""


class SourceError(DyncronError):
    """A source that cannot be read at all: no such table, no such file, no such format."""


class CannotImport(Exception):
    """Something of a source that no cron job can say; the message is the reason.

    ``instead`` is the nearest expression, which means something else.
    """

    def __init__(self, reason: str, *, instead: str = "") -> None:
        super().__init__(reason)
        self.instead = instead


@dataclass(frozen=True, slots=True)
class Entry:
    """A cron job that a source has: ``values`` by column, without those left at their defaults.

    ``name`` is how the source calls it, ``place`` where it is. ``notes`` tell what will be
    different, ``runs`` when the source runs it, if that is by a rule of its own. ``from_now`` names
    columns that depend on when one looks: in a job imported before they stay, or what is to run
    once would run again.
    """

    name: str
    values: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    runs: Runs | None = None
    place: str = ""
    from_now: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something in a source that does not become a cron job, and why.

    ``instead`` is the expression that would come nearest, in ``time_zone``.
    """

    name: str
    reason: str
    runs: Runs | None = None
    place: str = ""
    instead: str = ""
    time_zone: str = ""


@dataclass(slots=True)
class Source:
    """All that was found in one source, called ``title``.

    ``notes`` are about all of it, ``clock_changes`` says how its rule for them is not ours, and
    ``faults`` are entries that could not even be read, in words; ``unread`` are their names, of
    those that have one all the same.
    """

    title: str
    clock_changes: str = ""
    entries: list[Entry] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    def take(self, read: Callable[[], Entry], left_out: Callable[[CannotImport], LeftOut]) -> None:
        """Keep what ``read`` returns or, where it refuses, what ``left_out`` makes of that."""
        try:
            self.entries.append(read())
        except CannotImport as refusal:
            self.left_out.append(left_out(refusal))
        except OverflowError:
            self.left_out.append(left_out(CannotImport("Its dates are out of reach.")))
