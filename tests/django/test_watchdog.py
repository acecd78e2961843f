"""The watchdog, and what it lets systemd know: real threads, and a real socket."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async

from django_dyncron import wiring
from django_dyncron.conf import get_settings
from django_dyncron.core.claims import Horizon
from django_dyncron.core.definitions import Run
from django_dyncron.core.events import (
    RunEnqueued,
    SchedulerStopped,
    SignOfLife,
    TickFailed,
    TickResult,
)
from django_dyncron.core.exceptions import StoreUnavailable
from django_dyncron.core.pulse import Pulse
from django_dyncron.core.scheduler import DynamicScheduler
from django_dyncron.repositories.orm import DjangoCronJobRepository
from django_dyncron.systemd import Systemd
from django_dyncron.testing import FakeClock, InMemoryRepository, RecordingEnqueuer
from django_dyncron.watchdog import Watchdog

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def of_action(caplog: pytest.LogCaptureFixture, action: str) -> list[logging.LogRecord]:
    return [record for record in caplog.records if getattr(record, "action", "") == action]


def wait_until(condition: Callable[[], object], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# --- a tick that is stuck -------------------------------------------------------------------------


class BlockedRepository(DjangoCronJobRepository):
    """Its database thread blocks in the first look, until it is let go."""

    goes_on = threading.Event()
    was_blocked = False

    async def look_ahead(self, at: datetime | None) -> Horizon:
        await sync_to_async(self.block_in_the_database)()
        return await super().look_ahead(at)

    def block_in_the_database(self) -> None:
        type(self).was_blocked = True
        self.goes_on.wait(30)


@pytest.mark.django_db(transaction=True)
def test_a_database_thread_that_blocks_is_told_of_with_its_stack(
    settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "django_dyncron")
    settings.DYNCRON = {"REPOSITORY": f"{__name__}.BlockedRepository", "LOCK_PROVIDER": "none"}
    monkeypatch.setattr(BlockedRepository, "goes_on", threading.Event())

    class QuickWatchdog(Watchdog):
        def __init__(self, pulse: Pulse, **options: Any) -> None:
            assert options["stuck_after"] == 120
            super().__init__(pulse, **(options | {"stuck_after": 0.3}))

    monkeypatch.setattr(wiring, "Watchdog", QuickWatchdog)

    async def main() -> None:
        async with wiring.open_scheduler(get_settings()) as scheduler:
            loop = asyncio.ensure_future(scheduler.start(max_ticks=1))
            while len(of_action(caplog, "tick_stuck")) < 2:  # noqa: ASYNC110 - a thread logs it
                await asyncio.sleep(0.02)
            BlockedRepository.goes_on.set()
            await loop
            await asyncio.sleep(0.1)

    asyncio.run(asyncio.wait_for(main(), 20))
    first, second, *more = of_action(caplog, "tick_stuck")
    assert more == []
    assert first.levelname == "ERROR"
    told = first.getMessage()
    assert told.startswith("tick stuck for 0 s, in DurableTick._look\nthe tick awaits:\n")
    assert getattr(first, "step", "") == "DurableTick._look"
    assert "BlockedRepository.look_ahead" in told
    loops_stack, databases_stack = told.split("the database thread is at:")
    assert "the event loop's thread is at:" in loops_stack
    assert f"{__file__}:" in databases_stack
    assert "BlockedRepository.block_in_the_database" in databases_stack
    # Twice as long after the first time.
    assert second.created - first.created >= 0.25
    assert len(of_action(caplog, "tick_goes_on")) == 1


QUIET: dict[str, Any] = {"stuck_after": 100, "threads": {}}


class Loop:
    """A pulse as a loop leaves it, and a watchdog that is moved by hand."""

    keep_alive_seconds: float | None = None

    def __init__(self, **options: Any) -> None:
        self.pulse = Pulse()
        self.alive = 0
        self.watchdog = Watchdog(self.pulse, keep_alive=[self], **(QUIET | options))

    def keep_alive(self) -> None:
        self.alive += 1

    def tick(self) -> Any:
        class Task:
            is_done = False

            def done(self) -> bool:
                return self.is_done

            def get_coro(self) -> None:
                return None

        self.pulse.tick = task = Task()  # type: ignore[assignment]
        return task

    def pass_(self, seconds: float) -> None:
        for _ in range(int(seconds / 5)):
            self.watchdog._look(5)


def test_it_is_told_once_then_at_doubling_intervals_then_that_it_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "django_dyncron")
    loop = Loop()
    task = loop.tick()
    loop.pass_(1000)
    told = [getattr(record, "seconds", 0) for record in of_action(caplog, "tick_stuck")]
    assert told == [100, 200, 400, 800]
    alive = loop.alive
    task.is_done = True
    loop.pass_(5)
    (record,) = of_action(caplog, "tick_goes_on")
    assert record.levelname == "INFO"
    assert loop.alive == alive + 1


def test_a_tick_that_works_off_batch_after_batch_is_not_stuck(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = Loop()
    loop.tick()
    for _ in range(30):
        loop.pass_(90)
        loop.pulse.steps += 1
    assert caplog.records == []


def test_a_loop_that_never_ticks_again_is_stuck_between_ticks(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = Loop()
    loop.tick().is_done = True
    loop.pass_(130)
    assert caplog.records == []
    loop.pass_(5)
    (record,) = of_action(caplog, "tick_stuck")
    assert record.getMessage().startswith(
        "nothing moved for 130 s between ticks: the event loop is blocked, or a sign of life is"
    )


async def test_a_rest_of_an_hour_is_no_silence_of_an_hour() -> None:
    """So the watchdog need not know how long the loop means to rest."""
    clock = FakeClock(NOON)
    store = InMemoryRepository(clock.now)
    scheduler = DynamicScheduler(store, RecordingEnqueuer(), None, 3600, clock=clock)
    running = asyncio.ensure_future(scheduler.start())
    await clock.run_for(1)
    moved = []
    for _ in range(4):
        before = scheduler.pulse.steps
        await clock.run_for(30)
        moved.append(scheduler.pulse.steps > before)
    assert moved == [True] * 4
    scheduler.stop()
    await clock.run_for(1)
    await running


def test_a_scheduler_that_does_not_tick_yet_or_any_more_is_well(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = Loop()
    loop.pass_(1000)
    assert (caplog.records, loop.alive) == ([], 200)


def test_time_that_it_slept_through_itself_is_not_counted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A process that was stopped for an hour looks stuck to everybody but itself."""
    loop = Loop(stuck_after=50)
    loop.tick()
    looks = iter([False] * 9 + [True])
    times = iter([0, 5, 10, 3610, 3615, 3620, 3625, 3630, 3635, 3640])
    monkeypatch.setattr(loop.watchdog._is_over, "wait", lambda seconds: next(looks))
    monkeypatch.setattr("django_dyncron.watchdog.monotonic", lambda: next(times))
    loop.watchdog._watch()
    assert caplog.records == []
    assert loop.alive == 9


def test_it_looks_often_enough_for_whoever_waits_for_a_sign() -> None:
    assert Loop(stuck_after=600).watchdog._period == 5.0
    assert Loop(stuck_after=20).watchdog._period == 2.0
    often = Loop()
    often.keep_alive_seconds = 0.5
    assert Watchdog(often.pulse, **QUIET, keep_alive=[Loop(), often])._period == 0.5


# --- systemd --------------------------------------------------------------------------------------


class Manager:
    """The service manager's end of the socket."""

    def __init__(self, address: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(address.replace("@", "\0", 1) if address[0] == "@" else address)
        self._socket.settimeout(5)

    def hears(self) -> list[str]:
        return self._socket.recv(4096).decode().split("\n")

    def hears_nothing(self) -> bool:
        self._socket.setblocking(False)
        try:
            self._socket.recv(4096)
        except BlockingIOError:
            return True
        finally:
            self._socket.settimeout(5)
        return False

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def address(tmp_path: Path) -> str:
    return str(tmp_path / "notify")


@pytest.fixture
def manager(address: str) -> Iterator[Manager]:
    manager = Manager(address)
    yield manager
    manager.close()


@pytest.fixture
def systemd(address: str, manager: Manager) -> Iterator[Systemd]:
    systemd = Systemd.from_environment({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "30000000"})
    assert systemd is not None
    yield systemd
    systemd.close()


def a_run() -> Run:
    return Run(uuid4(), "a", "shop.tasks.report", {}, "default", NOON)


def test_a_unit_is_ready_after_its_first_tick(systemd: Systemd, manager: Manager) -> None:
    assert systemd.keep_alive_seconds == 15
    systemd.keep_alive()
    assert manager.hears() == ["WATCHDOG=1"]
    systemd(RunEnqueued(a_run(), NOON))
    systemd(TickResult(NOON))
    status = "STATUS=Last tick 12:00:00Z, 1 runs enqueued so far"
    assert manager.hears() == ["READY=1", status]
    systemd.keep_alive()
    assert manager.hears() == ["WATCHDOG=1"]
    systemd(TickResult(NOON + timedelta(seconds=30)))
    assert manager.hears_nothing()
    systemd.keep_alive()
    assert manager.hears()[1] == "STATUS=Last tick 12:00:30Z, 1 runs enqueued so far"
    systemd.stopping()
    systemd(SchedulerStopped("web-1", 0))
    assert manager.hears() == ["STOPPING=1", "STATUS=Stopping, local runs are waited for"]
    systemd.keep_alive()
    assert manager.hears() == ["WATCHDOG=1"]
    assert manager.hears_nothing()


def test_a_database_that_is_away_at_boot_is_no_reason_to_be_killed(
    systemd: Systemd, manager: Manager
) -> None:
    systemd(TickFailed(StoreUnavailable("no\nroute"), timedelta(seconds=4)))
    assert manager.hears() == ["READY=1", "STATUS=Tick failed, next in 4 s: no route"]


def test_a_name_in_the_abstract_namespace_is_understood() -> None:
    if not hasattr(socket, "SO_PASSCRED"):
        pytest.skip("only Linux has an abstract namespace")
    name = f"@dyncron-test-{uuid4()}"
    manager = Manager(name)
    systemd = Systemd.from_environment({"NOTIFY_SOCKET": name})
    assert systemd is not None
    systemd(TickResult(NOON))
    assert manager.hears()[0] == "READY=1"
    systemd.keep_alive()
    assert manager.hears_nothing()
    systemd.close()
    manager.close()


@pytest.mark.parametrize("environment", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "vsock:2:1"}])
def test_where_nobody_listens_nothing_is_said(environment: dict[str, str]) -> None:
    assert Systemd.from_environment(environment) is None


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"WATCHDOG_USEC": "soon"},
        {"WATCHDOG_USEC": "0"},
        {"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"},
    ],
)
def test_no_watch_is_kept_unless_this_process_is_meant(
    address: str, environment: dict[str, str]
) -> None:
    systemd = Systemd.from_environment({"NOTIFY_SOCKET": address, **environment})
    assert systemd is not None
    assert systemd.keep_alive_seconds is None
    systemd.close()


def test_a_long_first_tick_is_not_taken_for_a_start_that_fails(
    systemd: Systemd, manager: Manager
) -> None:
    systemd(SignOfLife(NOON))
    assert manager.hears() == ["READY=1", "STATUS=Works off what is due"]
    systemd(TickResult(NOON))
    systemd(SignOfLife(NOON))
    systemd.keep_alive()
    assert manager.hears() == ["WATCHDOG=1", "STATUS=Last tick 12:00:00Z, 0 runs enqueued so far"]


def test_a_manager_that_is_gone_is_complained_of_once(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    systemd = Systemd(address, 1.0)
    systemd(TickResult(NOON))
    systemd.keep_alive()
    assert [record.levelname for record in of_action(caplog, "notify_failed")] == ["WARNING"]
    systemd.close()


def test_a_manager_that_is_too_busy_is_told_again_that_a_unit_is_ready(
    systemd: Systemd, manager: Manager
) -> None:
    while not systemd._has_complained:  # nobody reads, so its queue fills up
        systemd.keep_alive()
    systemd(TickResult(NOON))
    heard: list[str] = []
    for _ in range(2000):
        heard += manager.hears()
        systemd.keep_alive()
    assert heard.count("READY=1") == 1
    while not manager.hears_nothing():
        continue
    systemd.keep_alive()
    assert manager.hears() == ["WATCHDOG=1"]


def test_a_stuck_tick_gives_no_more_signs(systemd: Systemd, manager: Manager) -> None:
    pulse = Pulse()
    pulse.tick = Loop().tick()
    watchdog = Watchdog(pulse, stuck_after=0.4, threads={}, keep_alive=[systemd])
    with watchdog:
        assert manager.hears() == ["WATCHDOG=1"]
        wait_until(lambda: watchdog._tells_at > 0)
        while not manager.hears_nothing():
            continue
        time.sleep(0.2)
        assert manager.hears_nothing()
        pulse.steps += 1
        assert manager.hears() == ["WATCHDOG=1"]
