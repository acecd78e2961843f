"""Threads that use Django's connections, and leave none of them open."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from asgiref.sync import sync_to_async
from django.db import connections


async def disconnect(alias: str) -> None:
    """Close the connection of the database thread."""

    def close() -> None:
        connections[alias].close()

    await sync_to_async(close)()


def in_threads(alias: str, bodies: Iterable[Callable[[], object]]) -> list[Exception]:
    """Run every body in a thread, with a connection, of its own; return what they raised."""
    errors: list[Exception] = []

    def run(body: Callable[[], object]) -> None:
        try:
            body()
        except Exception as error:
            errors.append(error)
        finally:
            connections[alias].close()

    threads = [threading.Thread(target=run, args=[body]) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors
