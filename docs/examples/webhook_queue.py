"""An enqueuer of your own: another service gets each run by HTTP."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from django_dyncron import EnqueueError, EnqueueNotSent, EnqueueRefused, ITaskEnqueuer
from django_dyncron.core.definitions import Run


class WebhookTaskEnqueuer(ITaskEnqueuer):
    """Posts each run to one address, which answers with its own name for the task."""

    # What answers there must drop an Idempotency-Key that it has seen.
    refuses_repeated_ids = True

    def __init__(self, url: str, timeout_seconds: float = 5) -> None:
        self._url = url
        self._timeout = timeout_seconds

    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> str:
        return await asyncio.to_thread(self._post, task_name, payload, queue, {})

    async def enqueue_run(self, run: Run) -> str:
        headers = {"Idempotency-Key": str(run.run_id)}
        return await asyncio.to_thread(self._post, run.task_name, run.payload, run.queue, headers)

    def _post(self, task: str, payload: dict[str, Any], queue: str, headers: dict[str, str]) -> str:
        body = json.dumps({"task": task, "payload": payload, "queue": queue}).encode()
        headers = {"Content-Type": "application/json", **headers}
        try:
            with urlopen(Request(self._url, body, headers), timeout=self._timeout) as answer:
                return str(answer.read().decode())
        except HTTPError as error:
            error.close()
            if 400 <= error.code < 500:
                raise EnqueueRefused(f"{self._url} refuses it: {error.code}.") from error
            raise EnqueueError(f"{self._url} failed: {error.code}.") from error
        except URLError as error:
            if isinstance(error.reason, ConnectionRefusedError):
                raise EnqueueNotSent(f"Nobody listens at {self._url}.") from error
            raise EnqueueError(str(error.reason)) from error
