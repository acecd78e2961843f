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
    """Wraps ``application`` and runs a scheduler between the server's lifespan messages.

    The messages (ASGI specification, "Lifespan Protocol") are passed on, so an application with a
    lifespan of its own is started before the first tick and ended after the last; Django's, which
    has none, is left in peace. A wrong setting fails the server's start with its message.
    """

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
        else:
            await self._application(scope, receive, send)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Begun out here, so that its blocking parts do not get into the scheduler's thread.
        inner = _InnerLifespan(self._application, scope)
        startup = await receive()
        async with AsyncExitStack() as stack:
            stack.push_async_callback(inner.aclose)
            try:
                scheduler = await stack.enter_async_context(open_scheduler())
            except Exception as error:
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            answer = await inner.tell(startup)
            if answer["type"] != "lifespan.startup.complete":
                await send(answer)
                return
            running = asyncio.ensure_future(scheduler.start())
            running.add_done_callback(_log_end)
            try:
                await send(answer)
                shutdown = await receive()
            finally:
                scheduler.stop()
                await asyncio.wait({running})
            answer = await inner.tell(shutdown)
        await send(answer)


class _InnerLifespan:
    """The lifespan of the wrapped application, which may have none."""

    def __init__(self, application: Application, scope: Scope) -> None:
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        self._answer: asyncio.Future[Message] | None = None
        self._has_one = False
        self._life = asyncio.ensure_future(application(scope, self._inbox.get, self._send))

    async def tell(self, message: Message) -> Message:
        """Pass ``message`` on and return the answer: "complete" where there is no lifespan.

        An application says that it has none by raising before it has answered anything.
        """
        self._answer = asyncio.get_running_loop().create_future()
        self._inbox.put_nowait(message)
        either: set[asyncio.Future[Any]] = {self._answer, self._life}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if self._answer.done():
            return self._answer.result()
        error = self._life.exception()
        if error is not None and self._has_one:
            return {"type": f"{message['type']}.failed", "message": str(error)}
        return {"type": f"{message['type']}.complete"}

    async def aclose(self) -> None:
        """End it, if it has not ended by itself."""
        self._life.cancel()
        await asyncio.gather(self._life, return_exceptions=True)

    async def _send(self, message: Message) -> None:
        self._has_one = True
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(message)


def _log_end(running: asyncio.Future[None]) -> None:
    if not running.cancelled() and (error := running.exception()) is not None:
        _logger.error(
            "the scheduler ended: %s", error, exc_info=error, extra={"action": "scheduler_died"}
        )
