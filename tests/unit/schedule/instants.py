"""Instants as the tests write them: ``2026-11-01T05:30Z``."""

from __future__ import annotations

from datetime import UTC, datetime


def utc(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%MZ").replace(tzinfo=UTC)


def written(instants: list[datetime]) -> list[str]:
    return [f"{instant:%Y-%m-%dT%H:%MZ}" for instant in instants]
