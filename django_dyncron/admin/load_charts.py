"""The planned load as drawings and as the tables that say the same in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log

from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ..load import BusyTime, PlannedLoad

_DARKEST = 5
_RANGE = 4
"""Boxes differ visibly where one stands for so many times the runs of another."""
_NAMES_WIDTH, _CELL_WIDTH, _CELL_HEIGHT, _HEADING_HEIGHT = 84, 34, 28, 20
_BAR_HEIGHT, _BAR_GAP = 96, 4
_BASELINE = 6
"""How far above the lower edge of its cell a text stands."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle: where it is, its look (0 to 5 or a bar), what it says when pointed at."""

    x: int
    y: int
    width: int
    height: int
    look: str
    title: str


@dataclass(frozen=True, slots=True)
class Label:
    """A text whose ``anchor`` (start, middle or end) is at ``x``."""

    x: int
    y: int
    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing, told in one sentence by ``summary``."""

    width: int
    height: int
    summary: str
    boxes: tuple[Box, ...]
    labels: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class LoadTable:
    """The same in numbers: a row is its name and its cells, one for each of ``columns``."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[int, ...]], ...]


def week_chart(load: PlannedLoad) -> Chart:
    """Draw a map of seven days by 24 hours, the darker the more is planned."""
    shades = _Shades([hour.runs for day in load.days for hour in day])
    boxes, labels = [], []
    for column, name in enumerate(_HOURS):
        labels.append(Label(_middle(column), _HEADING_HEIGHT - _BASELINE, "middle", name))
    for row, day in enumerate(load.days):
        y = _HEADING_HEIGHT + row * _CELL_HEIGHT
        baseline = y + _CELL_HEIGHT - _BASELINE - 3
        labels.append(Label(_NAMES_WIDTH - 8, baseline, "end", _day(day)))
        for column, hour in enumerate(day):
            title = f"{_day(day)}, {_HOURS[column]}:00: {_runs(hour.runs)}"
            x = _NAMES_WIDTH + column * _CELL_WIDTH
            look = str(shades.level(hour.runs))
            boxes.append(Box(x, y, _CELL_WIDTH - 2, _CELL_HEIGHT - 2, look, title))
            if hour.runs:
                labels.append(Label(_middle(column), baseline, "middle", short(hour.runs)))
    return Chart(
        width=_NAMES_WIDTH + len(_HOURS) * _CELL_WIDTH,
        height=_HEADING_HEIGHT + len(load.days) * _CELL_HEIGHT,
        summary=_("Runs planned in each hour of seven days, at most %(runs)s.")
        % {"runs": number_format(shades.peak, force_grouping=True)},
        boxes=tuple(boxes),
        labels=tuple(labels),
    )


def hours_chart(load: PlannedLoad) -> Chart:
    """Draw a bar for each of the next 24 hours."""
    hours = load.next_hours
    peak = max(hour.runs for hour in hours)
    boxes, labels = [], []
    for column, hour in enumerate(hours):
        height = ceil(_BAR_HEIGHT * hour.runs / peak) if peak else 0
        top = _HEADING_HEIGHT + _BAR_HEIGHT - height
        title = f"{_hour(hour)}: {_runs(hour.runs)}"
        x = _NAMES_WIDTH + column * _CELL_WIDTH + _BAR_GAP // 2
        boxes.append(Box(x, top, _CELL_WIDTH - _BAR_GAP, height, "bar", title))
        labels.append(Label(_middle(column), top - _BASELINE, "middle", short(hour.runs)))
        below = 2 * _HEADING_HEIGHT + _BAR_HEIGHT - _BASELINE
        labels.append(Label(_middle(column), below, "middle", _wall(hour, "H")))
    return Chart(
        width=_NAMES_WIDTH + len(hours) * _CELL_WIDTH,
        height=2 * _HEADING_HEIGHT + _BAR_HEIGHT,
        summary=_("Runs planned in each of the next 24 hours, at most %(runs)s.")
        % {"runs": number_format(peak, force_grouping=True)},
        boxes=tuple(boxes),
        labels=tuple(labels),
    )


def week_table(load: PlannedLoad) -> LoadTable:
    """Return what :func:`week_chart` draws."""
    rows = ((_day(day), tuple(hour.runs for hour in day)) for day in load.days)
    return LoadTable(_HOURS, tuple(rows))


def hours_table(load: PlannedLoad) -> LoadTable:
    """Return what :func:`hours_chart` draws."""
    return LoadTable((_("Runs"),), tuple((_hour(hour), (hour.runs,)) for hour in load.next_hours))


def short(count: int) -> str:
    """Return a count in at most four characters: ``999``, ``1.2k``, ``12k``, ``3.4M``."""
    if count < 1_000:
        return str(count)
    # From 999,500 on a thousand thousands would be shown.
    unit, size = ("k", 1_000) if count < 999_500 else ("M", 1_000_000)
    places = 1 if count < 9.95 * size else 0
    # Rounded first: to format is to cut.
    return f"{number_format(round(count / size, places), places)}{unit}"


_HOURS = tuple(f"{hour:02}" for hour in range(24))


def _middle(column: int) -> int:
    return _NAMES_WIDTH + column * _CELL_WIDTH + _CELL_WIDTH // 2 - 1


class _Shades:
    """How dark a box is: by magnitude, so that one peak does not make all others pale."""

    def __init__(self, counts: Sequence[int]) -> None:
        self.peak = max(counts)
        least = min((count for count in counts if count), default=1)
        self._palest = min(least, self.peak / _RANGE)

    def level(self, count: int) -> int:
        """Return 0 for nothing, else 1 to 5."""
        if not count:
            return 0
        share = log(count / self._palest) / log(self.peak / self._palest)
        return 1 + round((_DARKEST - 1) * share)


def _runs(count: int) -> str:
    words = ngettext("%(runs)s run", "%(runs)s runs", count)
    return words % {"runs": number_format(count, force_grouping=True)}


def _day(hours: Sequence[BusyTime]) -> str:
    return _wall(hours[0], "D j M")


def _hour(hour: BusyTime) -> str:
    return _wall(hour, "D j M, H:i")


def _wall(moment: BusyTime, style: str) -> str:
    return date_format(timezone.localtime(moment.starts_at), style)
