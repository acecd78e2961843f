"""States and outcomes: always a word, with a mark and a colour to find it faster."""

from __future__ import annotations

from enum import StrEnum

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _

from ..core.policies import RunStatus, SkipReason
from ..outlook import JobState

JOB_STATES = {
    JobState.ACTIVE: _("Active"),
    JobState.FAILING: _("Failing"),
    JobState.BROKEN: _("Broken"),
    JobState.PAUSED: _("Paused"),
    JobState.ENDED: _("Ended"),
}
OVERDUE = _("Overdue")

_SKIP_REASONS: dict[str, object] = {
    SkipReason.MISFIRE: _("missed"),
    SkipReason.OVERLAP: _("overlapping"),
    SkipReason.PAUSED: _("paused"),
    SkipReason.SUPERSEDED: _("a newer slot was run"),
    SkipReason.DELETED: _("job deleted"),
}

NOTHING = mark_safe('<span class="dyncron-nothing">–</span>')
"""What a cell shows when there is nothing to show."""


class Kind(StrEnum):
    """What a state or an outcome comes to: the end of its CSS class ``dyncron-…``."""

    GOOD = "good"
    BAD = "bad"
    BUSY = "busy"
    QUIET = "quiet"


_KINDS: dict[str, Kind] = {
    JobState.ACTIVE: Kind.GOOD,
    JobState.FAILING: Kind.BAD,
    JobState.BROKEN: Kind.BAD,
    JobState.PAUSED: Kind.QUIET,
    JobState.ENDED: Kind.QUIET,
    RunStatus.CLAIMED: Kind.BUSY,
    RunStatus.ENQUEUED: Kind.GOOD,
    RunStatus.RUNNING: Kind.BUSY,
    RunStatus.SUCCEEDED: Kind.GOOD,
    RunStatus.FAILED: Kind.BAD,
    RunStatus.SKIPPED: Kind.QUIET,
    RunStatus.UNKNOWN: Kind.BAD,
    RunStatus.LOST: Kind.BAD,
}
_SIGNS = {Kind.GOOD: "●", Kind.BAD: "▲", Kind.BUSY: "◐", Kind.QUIET: "○"}


def kind_of(state: str) -> Kind:
    """Return what a :class:`JobState` or :class:`RunStatus` comes to."""
    return _KINDS.get(state, Kind.QUIET)


def mark(state: str, words: object) -> SafeString:
    """Return ``words`` with the mark of a :class:`JobState` or :class:`RunStatus`."""
    kind = kind_of(state)
    return format_html(
        '<span class="dyncron-mark dyncron-{}"><span aria-hidden="true">{}</span> {}</span>',
        kind,
        _SIGNS[kind],
        words,
    )


def reason_words(reason: str) -> str:
    """Return a :class:`SkipReason` in words."""
    return str(_SKIP_REASONS.get(reason, reason))


def error_html(error: str, *, is_cut: bool = True) -> SafeString:
    """Return an error, cut to what a table cell can hold and whole in its ``title``."""
    if not error:
        return SafeString("")
    if not is_cut:
        return format_html('<span class="dyncron-error">{}</span>', error)
    shown = error if len(error) <= 160 else f"{error[:159]}…"
    return format_html('<span class="dyncron-error" title="{}">{}</span>', error, shown)
