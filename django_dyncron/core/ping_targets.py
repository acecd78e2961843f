"""Where the ping of a run goes, and whether it may go there.

The addresses are those of Healthchecks (its "Pinging API"), which other monitors take as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from urllib.parse import SplitResult, unquote, urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}


class PingKind(StrEnum):
    """What a monitor is told, as the end of the address says it."""

    START = "/start"
    SUCCESS = ""
    FAILURE = "/fail"


def plain_url(text: str) -> str | None:
    """Return an address as it would be asked for; ``None`` unless it is a plain one.

    That is HTTP or HTTPS to a host without credentials, a path that leads nowhere upwards however
    it is spelt, nothing that two parsers may read differently.
    """
    if not text.isascii() or not text.isprintable() or any(char in text for char in ' \\"<>^`{|}'):
        return None
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or "@" in parts.netloc:
        return None
    # Some servers leave out what follows a semicolon before they look for dots.
    segments = (segment.partition(";")[0] for segment in _decoded(parts.path).split("/"))
    if any(segment in (".", "..") for segment in segments):
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    if port not in (None, _DEFAULT_PORTS[parts.scheme]):
        host = f"{host}:{port}"
    return SplitResult(parts.scheme, host, parts.path or "/", parts.query, "").geturl()


def ping_target(text: str, kind: PingKind, run_id: str, beginnings: Iterable[str]) -> str | None:
    """Return the address to ask for about a run, or ``None`` if none of ``beginnings`` allows it.

    ``text`` is what stands in the job's row, ``run_id`` may be blank.
    """
    url = plain_url(text)
    if url is None:
        return None
    parts = urlsplit(url)
    path = parts.path.rstrip("/") + kind if kind else parts.path
    query = "&".join(filter(None, (parts.query, f"rid={run_id}" if run_id else "")))
    target = parts._replace(path=path, query=query).geturl()
    allowed = (plain_url(beginning) for beginning in beginnings)
    return target if any(each is not None and target.startswith(each) for each in allowed) else None


def _decoded(path: str) -> str:
    """Return ``path`` with nothing left to decode: a proxy on the way may do so once more."""
    while (decoded := unquote(path)) != path:
        path = decoded
    return path.replace("\\", "/")
