"""Links from runs to their tasks on the pages of a queue, where it has any."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from django.utils.html import format_html
from django.utils.safestring import SafeString

from ..conf import ConfigurationError, load_enqueuer, read_settings
from ..core.ports import ITaskEnqueuer
from ..models import CronRun
from .marks import NOTHING

_KEY = "_dyncron_task_url"
_logger = logging.getLogger("django_dyncron")


def link_tasks(runs: Iterable[CronRun]) -> None:
    """Look up the page of each run's task, building each enqueuer once."""
    enqueuers: dict[str, ITaskEnqueuer | None] = {}
    for run in runs:
        if run.task_id:
            if run.enqueuer not in enqueuers:
                enqueuers[run.enqueuer] = _enqueuer(run.enqueuer)
            vars(run)[_KEY] = _url(enqueuers[run.enqueuer], run)


def task_html(run: CronRun, longest: int = 255) -> SafeString:
    """Return the task id of a run, a link if :func:`link_tasks` has found its page.

    Of one that has more than ``longest`` characters the beginning is shown.
    """
    if not run.task_id:
        return NOTHING
    shown = run.task_id if len(run.task_id) <= longest else f"{run.task_id[: longest - 1]}…"
    url = vars(run).get(_KEY)
    if url is None:
        return format_html('<span class="dyncron-code" title="{}">{}</span>', run.task_id, shown)
    return format_html(
        '<a class="dyncron-code" href="{}" title="{}">{}</a>', url, run.task_id, shown
    )


def _enqueuer(name: str) -> ITaskEnqueuer | None:
    try:
        return load_enqueuer(name, read_settings()[0])
    except ConfigurationError:
        return None


def _url(enqueuer: ITaskEnqueuer | None, run: CronRun) -> str | None:
    if enqueuer is None:
        return None
    try:
        return enqueuer.task_url(run.task_id, run.queue)
    except Exception:
        # An enqueuer of somebody's own must not take the history away.
        _logger.exception("The page of a task cannot be told", extra={"job_id": run.job_id})
        return None
