"""The latest runs of a job as bars: an SVG of the server's, told apart by shape before colour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from ..core.policies import RunStatus
from ..models import CronRun
from .marks import NOTHING, Kind, kind_of, reason_words
from .moments import duration, exact

_PLACES = 30
_STEP = 4
_HEIGHT = 20
_SHAPES = {
    Kind.GOOD: "M{} 6h3v14h-3z",
    # Higher than all others, with a point.
    Kind.BAD: "M{} 4l1.5-4l1.5 4v16h-3z",
    # Hollow: the inner outline runs the other way round.
    Kind.BUSY: "M{} 6h3v14h-3zm1 1v12h1v-12z",
    Kind.QUIET: "M{} 16h3v4h-3z",
}
_WORDS = dict(CronRun._meta.get_field("status").flatchoices)
_TOLD_FIRST = (RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.LOST, RunStatus.UNKNOWN)


def bars(runs: Sequence[CronRun]) -> SafeString:
    """Draw up to 30 ``runs``, which come oldest first, with the newest one at the right."""
    if not runs:
        return NOTHING
    first = _PLACES - len(runs)
    return format_html(
        '<svg class="dyncron-bars" role="img" aria-label="{}" viewBox="0 0 {} {}"'
        ' width="{}" height="{}">{}</svg>',
        _in_short(runs),
        *(_PLACES * _STEP - 1, _HEIGHT) * 2,
        format_html_join(
            "",
            '<path class="dyncron-{}" d="{}"><title>{}</title></path>',
            (
                (kind, _SHAPES[kind].format(place * _STEP), _in_full(run))
                for place, run in enumerate(runs, first)
                for kind in [kind_of(run.status)]
            ),
        ),
    )


def _in_short(runs: Sequence[CronRun]) -> str:
    """Return ``Last 30 runs: 28 succeeded, 2 failed``."""
    counts = Counter(run.status for run in runs)
    told = dict.fromkeys([*_TOLD_FIRST, *sorted(counts)])
    parts = ", ".join(f"{counts[each]} {_words(each)}" for each in told if counts[each])
    start = ngettext("Last %d run", "Last %d runs", len(runs)) % len(runs)
    return f"{start}: {parts}"


def _in_full(run: CronRun) -> str:
    """Return ``2026-11-30 10:00 UTC: succeeded, 1.2 s``."""
    if run.scheduled_for is None:
        told = _("%(moment)s by hand") % {"moment": exact(run.created_at)}
    elif run.skipped_until is None:
        told = exact(run.scheduled_for)
    else:
        told = f"{exact(run.scheduled_for)} – {exact(run.skipped_until)}"
    told = f"{told}: {_words(run.status)}"
    if run.reason:
        told += f" ({reason_words(run.reason)})"
    if run.started_at is not None and run.finished_at is not None:
        told += f", {duration(run.finished_at - run.started_at)}"
    return told


def _words(status: str) -> str:
    # get_status_display() makes a dictionary each time, for three thousand bars a page.
    return str(_WORDS.get(status, status))
