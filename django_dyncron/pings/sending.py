"""The way of a ping: its address read from the job's row, checked, and asked for.

All of it blocks, and runs in the thread of a line.
"""

from __future__ import annotations

import logging
import ssl
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from http.client import HTTPException
from time import sleep
from typing import Any
from urllib.error import HTTPError
from urllib.request import (
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
    getproxies_environment,
)

from django.db import Error, connections

from .. import __version__
from ..conf import database_alias, get_settings
from ..core.ping_targets import PingKind, ping_target
from ..core.text import one_line
from ..models import CronJob, CronRun

_TIMEOUT_SECONDS = 5.0
_TRIES = 2
_PAUSE_SECONDS = 1.0
_LONGEST_BODY = 10_000

_logger = logging.getLogger("django_dyncron")


@dataclass(frozen=True, slots=True, eq=False)
class Ping:
    """What a monitor is to be told. ``run_id`` is blank if it is about no single run.

    Without an ``address`` that of the job's row is read before it is sent.
    """

    kind: PingKind
    job_id: str
    run_id: str = ""
    text: str = ""
    address: str = ""
    is_over: threading.Event = field(default_factory=threading.Event)
    """Set once it was sent, dropped or given up."""


def send_all(batch: Sequence[Ping]) -> None:
    """Send what jobs have an address for, in order; raise if the addresses cannot be read.

    What cannot be sent is logged.
    """
    pings = _condensed(batch)
    beginnings = get_settings().ping_urls
    addresses = _addresses([ping for ping in pings if not ping.address])
    for ping in pings:
        if address := ping.address or addresses.get(ping):
            target = ping_target(address, ping.kind, ping.run_id, beginnings)
            if target is None:
                # SQL asks no form.
                log_unsent(ping, "ping_refused", "PING_URLS does not allow its address")
            else:
                _send(ping, target)
        ping.is_over.set()


def read_addresses(pings: Sequence[Ping]) -> dict[Ping, str]:
    """Return where each ping goes, as far as its job has an address now."""
    using = database_alias(get_settings())
    # Of a task whose process was killed some queues remember the run's id alone.
    nameless = [ping.run_id for ping in pings if not ping.job_id]
    names: dict[str, str] = {}
    if nameless:
        runs = CronRun.objects.using(using).filter(pk__in=nameless)
        names = {str(run_id): job_id for run_id, job_id in runs.values_list("pk", "job_id")}
    job_ids = {ping: ping.job_id or names.get(ping.run_id, "") for ping in pings}
    jobs = CronJob.objects.using(using).filter(job_id__in=set(job_ids.values()))
    urls = dict(jobs.exclude(ping_url="").values_list("job_id", "ping_url"))
    return {ping: urls[job_id] for ping, job_id in job_ids.items() if job_id in urls}


def log_dropped(count: int) -> None:
    """Log how many pings found no place in a line that was full."""
    extra = {"action": "ping_dropped", "count": count}
    _logger.warning("%d pings were dropped while too many were waiting", count, extra=extra)


def log_unsent(ping: Ping, action: str, problem: str) -> None:
    """Log that a ping was not sent; without its address, for who knows it speaks for the job."""
    _logger.warning(
        "%s: the ping that it %s was not sent: %s",
        ping.job_id or ping.run_id,
        _WORDS[ping.kind],
        problem,
        extra={"action": action, "job_id": ping.job_id, "run_id": ping.run_id},
    )


_WORDS = {
    PingKind.START: "has started",
    PingKind.SUCCESS: "has succeeded",
    PingKind.FAILURE: "has failed",
}


def _condensed(batch: Sequence[Ping]) -> list[Ping]:
    """Leave out, of pings about no single run, those right before another one for their job.

    After an outage a monitor need not hear of each missed slot.
    """
    kept: list[Ping] = []
    following: dict[str, Ping] = {}
    for ping in reversed(batch):
        after = following.get(ping.job_id)
        following[ping.job_id] = ping
        if ping.run_id or after is None or after.run_id:
            kept.append(ping)
    return kept[::-1]


def _addresses(pings: Sequence[Ping]) -> dict[Ping, str]:
    """Do as :func:`read_addresses` does, once more if the database is away, and hang up."""
    if not pings:
        return {}
    try:
        try:
            return read_addresses(pings)
        except Error:
            # Or the next try would go over the same dead connection.
            connections.close_all()
            sleep(_PAUSE_SECONDS)
            return read_addresses(pings)
    finally:
        # Whoever pings once an hour shall not hold a connection for it.
        connections.close_all()


class _NoRedirects(HTTPRedirectHandler):
    """Makes an error of a redirect: it might lead anywhere."""

    def redirect_request(self, *_: Any) -> None:
        return None


@cache
def _opener() -> OpenerDirector:
    return build_opener(
        _NoRedirects,
        HTTPSHandler(context=ssl.create_default_context()),
        # Not what the system says: to ask macOS for it ends a process that was forked.
        ProxyHandler(getproxies_environment()),
    )


def _send(ping: Ping, target: str) -> None:
    headers = {"User-Agent": f"django-dyncron/{__version__}"}
    body: bytes | None = None
    if ping.kind is PingKind.FAILURE:
        # A character that was cut through would be no UTF-8.
        body = (
            ping.text.encode("utf-8", "replace")[:_LONGEST_BODY].decode("utf-8", "ignore").encode()
        )
        headers["Content-Type"] = "text/plain; charset=utf-8"
    request = Request(target, data=body, headers=headers)  # noqa: S310 - it is HTTP or HTTPS
    problem = ""
    for number in range(_TRIES):
        if number:
            sleep(_PAUSE_SECONDS)
        try:
            _opener().open(request, timeout=_TIMEOUT_SECONDS).close()
            return
        except HTTPError as error:
            problem = f"the monitor answered {error.code}"
            error.close()
            if error.code < 500 and error.code != 429:
                break
        except (OSError, HTTPException, ValueError) as error:
            problem = one_line(error, with_type=True)
    log_unsent(ping, "ping_failed", problem)
