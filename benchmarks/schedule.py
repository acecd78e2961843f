"""How long the next slot takes: ours, croniter, cronsim, APScheduler 3 and Celery's crontab.

``next`` asks a schedule that was built before, ``build+next`` builds it first. All tools run in
turn, round after round, over the same instants of one year, so that their ratios mean something on
a busy machine. Each is given what it is made for: ours instants in UTC, the others in the zone. The
floor is the arithmetic of datetimes that nobody can do without.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from statistics import median
from time import perf_counter
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger
from celery import Celery
from celery.schedules import crontab
from croniter import croniter
from cronsim import CronSim

from django_dyncron.core import days, dialect, schedule, zones
from django_dyncron.core.schedule import CronSchedule

EXPRESSIONS = ("*/5 * * * *", "0 6 * * *", "*/15 9-17 * * 1-5", "0 0 1 * *", "30 4 1,15 * 5")
RARE = ("0 0 29 2 *", "0 0 * 2 MON#5")
ZONES = ("UTC", "America/New_York")
INSTANTS = [
    datetime(2026, 1, 1, 0, 7, 30, tzinfo=UTC) + number * timedelta(days=7, hours=5, minutes=11)
    for number in range(50)
]
START, END = datetime(2026, 3, 1, tzinfo=UTC), datetime(2027, 3, 1, tzinfo=UTC)
TARGET = 40
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

Step = Callable[[datetime], object]
Build = Callable[[str, str], Step]


def build_floor(_expression: str, _zone: str) -> Step:
    return lambda instant: EPOCH + ((instant - EPOCH) // MINUTE + 1) * MINUTE


def build_ours(expression: str, zone: str) -> Step:
    return schedule._read(expression, zone, "run_after", "first", None).next_after


def build_croniter(expression: str, zone: str) -> Step:
    found = croniter(expression, INSTANTS[0].astimezone(ZoneInfo(zone)), ret_type=datetime)
    return lambda instant: found.get_next(start_time=instant)


def build_cronsim(expression: str, _zone: str) -> Step:
    # A CronSim is an iterator from where it was built, so there is nothing to keep.
    return lambda instant: next(CronSim(expression, instant))


def build_apscheduler(expression: str, zone: str) -> Step:
    trigger = CronTrigger.from_crontab(expression, ZoneInfo(zone))
    return lambda instant: trigger.get_next_fire_time(None, instant)


def build_celery(expression: str, zone: str) -> Step:
    minute, hour, day, month, weekday = expression.split()
    now = INSTANTS[0]
    found = crontab(minute, hour, weekday, day, month, nowfun=lambda: now, app=CELERY[zone])

    def step(instant: datetime) -> object:
        nonlocal now
        now = instant
        return found.remaining_estimate(instant)

    return step


def celery_app(zone: str) -> Celery:
    app = Celery(zone, set_as_current=False)
    app.conf.timezone = zone
    return app


CELERY = {zone: celery_app(zone) for zone in ZONES}
IN_UTC = ("floor", "ours")
TOOLS: dict[str, Build] = {
    "floor": build_floor,
    "ours": build_ours,
    "croniter": build_croniter,
    "cronsim": build_cronsim,
    "APScheduler": build_apscheduler,
    "Celery": build_celery,
}


def microseconds(call: Callable[[datetime], object], instants: Sequence[datetime]) -> float:
    """Time one call, on average over the instants."""
    begun = perf_counter()
    for instant in instants:
        call(instant)
    return (perf_counter() - begun) / len(instants) * 1e6


def compare(expression: str, zone: str, rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return the medians of ``next`` and of ``build+next`` of each tool."""
    local = [instant.astimezone(ZoneInfo(zone)) for instant in INSTANTS]
    instants = {name: INSTANTS if name in IN_UTC else local for name in TOOLS}
    built = {name: build(expression, zone) for name, build in TOOLS.items()}
    nexts: dict[str, list[float]] = {name: [] for name in TOOLS}
    both: dict[str, list[float]] = {name: [] for name in TOOLS}
    for _ in range(rounds):
        for name, build in TOOLS.items():
            nexts[name].append(microseconds(built[name], instants[name]))
            fresh = rebuilt(build, expression, zone)
            both[name].append(microseconds(fresh, instants[name]))
    return (
        {name: median(times) for name, times in nexts.items()},
        {name: median(times) for name, times in both.items()},
    )


def rebuilt(build: Build, expression: str, zone: str) -> Step:
    def step(instant: datetime) -> object:
        return build(expression, zone)(instant)

    return step


def forget() -> None:
    """Empty every cache, as in a process that just started."""
    schedule._parse.cache_clear()
    dialect._read_plain_field.cache_clear()
    days._matching_days.cache_clear()
    zones.timeline.cache_clear()
    ZoneInfo.clear_cache()


def milliseconds(call: Callable[[], object]) -> float:
    begun = perf_counter()
    call()
    return (perf_counter() - begun) * 1e3


def print_comparison(rounds: int) -> float:
    """Print the tables; return the least ratio of croniter's build+next to our next."""
    ratios = []
    for zone in ZONES:
        print(f"\n{zone}, microseconds (times ours)")
        print(f"{'':20}{'':11}" + "".join(f"{name:>18}" for name in TOOLS))
        for expression in EXPRESSIONS:
            nexts, both = compare(expression, zone, rounds)
            for label, times in (("next", nexts), ("build+next", both)):
                cells = (f"{t:.2f} ({t / times['ours']:.1f}x)" for t in times.values())
                print(f"{expression:20}{label:11}" + "".join(f"{cell:>18}" for cell in cells))
            ratios.append(both["croniter"] / nexts["ours"])
    return min(ratios)


def print_rare() -> None:
    print("\nrare dates and the slots of a year, milliseconds")
    print(f"{'':40}{'cold':>10}{'warm':>10}")
    for zone in ZONES:
        for expression in RARE:
            print_cold_and_warm(expression, zone, "next", lambda rare: rare.next_after(START))
        print_cold_and_warm(
            "* * * * *", zone, "count", lambda minutely: minutely.count_between(START, END)
        )


def print_cold_and_warm(
    expression: str, zone: str, label: str, use: Callable[[CronSchedule], object]
) -> None:
    forget()
    cold = milliseconds(lambda: use(CronSchedule.parse(expression, zone)))
    warm = milliseconds(lambda: use(CronSchedule.parse(expression, zone)))
    print(f"{f'{expression} in {zone}, {label}':40}{cold:>10.3f}{warm:>10.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    gc.disable()
    least = print_comparison(rounds)
    print_rare()
    verdict = "met" if least >= TARGET else "missed"
    print(
        f"\nleast ratio, croniter's build+next to our next: {least:.0f}, target {TARGET} {verdict}"
    )


if __name__ == "__main__":
    main()
