"""A network between a client and its server, as bad as a test wants it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class Relay:
    """Passes bytes on to a server, but may swallow its answers or never answer at all.

    Only answers to commands of the name ``loses`` get lost.
    """

    def __init__(self, target: str, loses: bytes = b"EVAL") -> None:
        self._loses = loses
        _, _, self._address = target.rpartition("//")
        self.url = ""
        self.answers_to_lose = 0
        self.is_silent = False

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Relay]:
        server = await asyncio.start_server(self._relay, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        self.url = f"redis://127.0.0.1:{port}/{self._address.rpartition('/')[2]}"
        async with server:
            yield self

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, _, port = self._address.partition("/")[0].partition(":")
        upstream_reader, upstream_writer = await asyncio.open_connection(host, int(port))
        try:
            while request := await reader.read(65_536):
                if self.is_silent:
                    continue
                upstream_writer.write(request)
                answer = await upstream_reader.read(65_536)
                if self._loses in request and self.answers_to_lose:
                    self.answers_to_lose -= 1
                    break
                writer.write(answer)
        finally:
            for each in (writer, upstream_writer):
                each.close()
                with suppress(ConnectionError):
                    await each.wait_closed()
