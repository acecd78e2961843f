from __future__ import annotations


def round_prices() -> None: ...
