"""The composition root: the one place where settings become a running scheduler."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.db import connections

from .conf import (
    DyncronSettings,
    get_settings,
    load_enqueuers,
    load_lock_provider,
    load_repository,
)
from .core.ports import Observer
from .core.scheduler import DynamicScheduler
from .logs import log_event
from .signal_sending import send_signals
from .watchdog import KeepAlive, Watchdog


@asynccontextmanager
async def open_scheduler(
    settings: DyncronSettings | None = None,
    *,
    replica_id: str | None = None,
    observers: Iterable[Observer] = (),
    keep_alive: Iterable[KeepAlive] = (),
) -> AsyncIterator[DynamicScheduler]:
    """Assemble a scheduler from ``settings`` (default: ``settings.DYNCRON``), close it after use.

    It owns one database thread, under an ASGI server too; the thread's connections end with it.
    A watchdog sees to it that a stuck tick is noticed; ``keep_alive`` are told that none is.
    Raises :class:`ConfigurationError` for a setting that is wrong.
    """
    settings = settings or get_settings()
    async with ThreadSensitiveContext():
        # In the database thread, where the app's modules may use the ORM.
        scheduler = await sync_to_async(_assemble)(settings, replica_id, observers)
        database_thread = await sync_to_async(threading.get_ident)()
        with _watchdog(settings, scheduler, database_thread, keep_alive):
            try:
                yield scheduler
            finally:
                await scheduler.aclose()
                await sync_to_async(connections.close_all)()
                if settings.ping_urls:
                    from .pings import flush

                    # Here, not at exit: whoever has given up a local task leaves by os._exit().
                    await asyncio.to_thread(flush)


def _watchdog(
    settings: DyncronSettings,
    scheduler: DynamicScheduler,
    database_thread: int,
    keep_alive: Iterable[KeepAlive],
) -> Watchdog:
    return Watchdog(
        scheduler.pulse,
        stuck_after=settings.stuck_after_seconds,
        threads={
            "the event loop's thread": threading.get_ident(),
            "the database thread": database_thread,
        },
        keep_alive=keep_alive,
    )


def _assemble(
    settings: DyncronSettings, replica_id: str | None, observers: Iterable[Observer]
) -> DynamicScheduler:
    enqueuers = load_enqueuers(settings)
    return DynamicScheduler(
        load_repository(settings),
        enqueuers["default"],
        load_lock_provider(settings),
        settings.tick_interval_seconds,
        enqueuers=enqueuers,
        time_zone=settings.time_zone,
        catch_up_window_seconds=settings.catch_up_window_seconds,
        lock_ttl_seconds=settings.lock_ttl_seconds,
        on_lock_error=settings.on_lock_error,
        key_prefix=settings.key_prefix,
        replica_id=replica_id,
        shutdown_grace_seconds=settings.shutdown_grace_seconds,
        run_retention_days=settings.run_retention_days,
        observers=(log_event, send_signals, *observers),
    )
