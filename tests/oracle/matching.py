"""Whether a local date or time is named by an expression, straight from the definitions."""

from __future__ import annotations

import calendar
import datetime as dt

MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]


class Expression:
    """Five fields as sets of numbers and, for days, as questions put to a date."""

    def __init__(self, text: str) -> None:
        minute, hour, self._day, month, self._weekday = text.upper().replace("?", "*").split()
        self.is_fixed_time = minute[0] != "*" and hour[0] != "*"
        self._minutes = _numbers(minute, 0, 59)
        self._hours = _numbers(hour, 0, 23)
        self._months = _numbers(month, 1, 12, MONTHS)

    def names_time(self, hour: int, minute: int) -> bool:
        return hour in self._hours and minute in self._minutes

    def names_date(self, date: dt.date) -> bool:
        if date.month not in self._months:
            return False
        day = any(_is_day_of_month(item, date) for item in self._day.split(","))
        weekday = any(_is_day_of_week(item, date) for item in self._weekday.split(","))
        if self._day[0] == "*" or self._weekday[0] == "*":
            return day and weekday
        return day or weekday


def _numbers(field: str, low: int, high: int, names: list[str] | None = None) -> set[int]:
    found: set[int] = set()
    for item in field.split(","):
        span, _, step = item.partition("/")
        if span == "*":
            first, last = low, high
        elif "-" in span:
            first, last = (_number(end, names, low) for end in span.split("-"))
        else:
            first = _number(span, names, low)
            last = high if step else first
        found.update(range(first, last + 1, int(step or 1)))
    return found


def _number(text: str, names: list[str] | None, low: int) -> int:
    return int(text) if text.isdigit() else low + (names or []).index(text)


def _month(date: dt.date) -> list[dt.date]:
    length = calendar.monthrange(date.year, date.month)[1]
    return [date.replace(day=day) for day in range(1, length + 1)]


def _is_day_of_month(item: str, date: dt.date) -> bool:
    month = _month(date)
    workdays = [day for day in month if day.isoweekday() <= 5]
    if item == "L":
        return date == month[-1]
    if item == "LW":
        return date == workdays[-1]
    if item.endswith("W"):
        wanted = int(item[:-1])
        nearest = min(workdays, key=lambda day: abs(day.day - wanted))
        return wanted <= len(month) and date == nearest
    return date.day in _numbers(item, 1, 31)


def _is_day_of_week(item: str, date: dt.date) -> bool:
    if "#" in item:
        weekday, _, nth = item.partition("#")
        same = [day for day in _month(date) if _is_day_of_week(weekday, day)]
        return date in same[int(nth) - 1 : int(nth)]
    if "L" in item:
        same = [day for day in _month(date) if _is_day_of_week(item.replace("L", ""), day)]
        return date == same[-1]
    high = 6 if item[0] == "*" else 7
    return date.isoweekday() % 7 in {day % 7 for day in _numbers(item, 0, high, WEEKDAYS)}
