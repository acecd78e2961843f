"""A queue system that is particular."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django_dyncron import ITaskEnqueuer
from django_dyncron.core.exceptions import EnqueueRefused


class NoOptions(ITaskEnqueuer):
    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None: ...

    def check_options(self, options: Mapping[str, Any]) -> None:
        if options:
            raise EnqueueRefused("No options here.", field="options")
