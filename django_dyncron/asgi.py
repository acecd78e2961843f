"""A scheduler that lives and dies with an ASGI server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AsyncExitStack
from typing import Any

from .wiring import open_scheduler

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
# As wide as this, because Django's own handler names its arguments' types otherwise.
Application = Callable[..., Awaitable[None]]

_logger = logging.getLogger("django_dyncron")


class SchedulerLifespan:
    """Wraps ``application`` and answers the server's lifespan messages by running a scheduler.

    The lifespan protocol (ASGI specification, "Lifespan") is not passed on: Django's own
    application does not speak it. A wrong setting fails the server's start with its message.
    """

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await self._application(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()  # lifespan.startup
        async with AsyncExitStack() as stack:
            try:
                scheduler = await stack.enter_async_context(open_scheduler())
            except Exception as error:
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            running = asyncio.ensure_future(scheduler.start())
            running.add_done_callback(_log_end)
            try:
                await send({"type": "lifespan.startup.complete"})
                await receive()  # lifespan.shutdown
            finally:
                scheduler.stop()
                await asyncio.wait({running})
        await send({"type": "lifespan.shutdown.complete"})


def _log_end(running: asyncio.Future[None]) -> None:
    if not running.cancelled() and (error := running.exception()) is not None:
        _logger.error(
            "the scheduler ended: %s", error, exc_info=error, extra={"action": "scheduler_died"}
        )
