"""Random expressions of the whole dialect, most of them busy where clocks change."""

from __future__ import annotations

from random import Random

MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]


def random_expression(random: Random) -> str:
    """Make an expression that is accepted, though some fire rarely."""
    return " ".join(
        [
            _field(random, 0, 59, star=0.3),
            _hour(random),
            _day_of_month(random),
            _named(random, MONTHS, 1, 12) if random.random() < 0.15 else "*",
            _day_of_week(random),
        ]
    )


def _field(random: Random, low: int, high: int, star: float) -> str:
    if random.random() < star:
        return random.choice(["*", "*", f"*/{random.randint(2, high + 3)}"])
    return ",".join(_item(random, low, high) for _ in range(random.choice([1, 1, 1, 2, 3])))


def _item(random: Random, low: int, high: int) -> str:
    first = random.randint(low, high - 1)
    last = random.randint(first + 1, high)
    step = random.randint(1, high)
    return random.choice(
        [
            str(random.randint(low, high)),
            str(first),
            f"{first}-{last}",
            f"{first}-{last}/{step}",
            f"{first}/{step}",
        ]
    )


def _hour(random: Random) -> str:
    choice = random.random()
    if choice < 0.55:  # most zones change their clocks in these hours
        return _item(random, 0, 4).partition("/")[0]
    return _field(random, 0, 23, star=0.5)


def _day_of_month(random: Random) -> str:
    choice = random.random()
    if choice < 0.6:
        return random.choice(["*", "*", "?"])
    if choice < 0.75:
        return ",".join(
            random.choice(["L", "LW", f"{random.randint(1, 31)}W", str(random.randint(1, 28))])
            for _ in range(random.choice([1, 2]))
        )
    return _field(random, 1, 31, star=0.3)


def _day_of_week(random: Random) -> str:
    choice = random.random()
    if choice < 0.6:
        return random.choice(["*", "*", "?"])
    if choice < 0.75:
        weekday = random.choice([*WEEKDAYS, *"01234567"])
        return random.choice([f"{weekday}#{random.randint(1, 5)}", f"{weekday}L", f"L{weekday}"])
    if choice < 0.85:
        return random.choice(["*/2", "*/3", "1-5", "5-7", "0-7/2", "SUN,mon", "Mon-Fri", "6,7"])
    return _named(random, WEEKDAYS, 0, 6)


def _named(random: Random, names: list[str], low: int, high: int) -> str:
    first = random.randint(low, high - 1)
    last = random.randint(first + 1, high)
    one, other = names[first - low], names[last - low]
    return random.choice([one, str(last), f"{one},{last}", f"{one}-{other}", f"{first}-{last}"])
