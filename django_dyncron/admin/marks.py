"""States and outcomes: always a word, with a mark and a colour to find it faster."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _

from ..core.policies import RunStatus
from ..outlook import JobState

JOB_STATES = {
    JobState.ACTIVE: _("Active"),
    JobState.FAILING: _("Failing"),
    JobState.BROKEN: _("Broken"),
    JobState.PAUSED: _("Paused"),
    JobState.ENDED: _("Ended"),
}

NOTHING = mark_safe('<span class="dyncron-nothing">–</span>')
"""What a cell shows when there is nothing to show."""

_GOOD, _BAD, _BUSY, _QUIET = "good", "bad", "busy", "quiet"
_KINDS: dict[str, str] = {
    JobState.ACTIVE: _GOOD,
    JobState.FAILING: _BAD,
    JobState.BROKEN: _BAD,
    JobState.PAUSED: _QUIET,
    JobState.ENDED: _QUIET,
    RunStatus.CLAIMED: _BUSY,
    RunStatus.ENQUEUED: _GOOD,
    RunStatus.RUNNING: _BUSY,
    RunStatus.SUCCEEDED: _GOOD,
    RunStatus.FAILED: _BAD,
    RunStatus.SKIPPED: _QUIET,
    RunStatus.UNKNOWN: _BAD,
    RunStatus.LOST: _BAD,
}
_SIGNS = {_GOOD: "●", _BAD: "▲", _BUSY: "◐", _QUIET: "○"}


def mark(state: str, words: object) -> SafeString:
    """Return ``words`` with the mark of a :class:`JobState` or :class:`RunStatus`."""
    kind = _KINDS.get(state, _QUIET)
    return format_html(
        '<span class="dyncron-mark dyncron-{}"><span aria-hidden="true">{}</span> {}</span>',
        kind,
        _SIGNS[kind],
        words,
    )


def error_html(error: str) -> SafeString:
    """Return an error cut to what a table cell can hold, whole in its ``title``."""
    if not error:
        return SafeString("")
    shown = error if len(error) <= 160 else f"{error[:159]}…"
    return format_html('<span class="dyncron-error" title="{}">{}</span>', error, shown)
