"""A task of Huey's in no ``tasks`` module, which nothing imports by itself."""

from __future__ import annotations

from tests.engines.on_huey.plain import letters


@letters.task()
def seal(letter: str) -> None: ...
