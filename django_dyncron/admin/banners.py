"""Banners over the list and the form: everything is paused, or no scheduler is there."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext as _

from ..health import ReplicaState
from ..health.reading import read_replicas
from ..models import Pause
from ..pausing import current_pause
from .database import Base
from .moments import exact


class BannersMixin(Base):
    """Tells templates of the banners there are."""

    def banner_context(self, request: HttpRequest) -> dict[str, Any]:
        """Return what ``django_dyncron/banners.html`` needs, in two queries."""
        now = timezone.now()
        alias = self.get_queryset(request).db
        pause = current_pause(alias)
        return {
            "dyncron_pause": pause,
            "dyncron_pause_banner": pause and _told_of(pause, now),
            "dyncron_silence_banner": silence(alias),
        }

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = self.banner_context(request) | (extra_context or {})
        return super().changelist_view(request, context)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any
    ) -> HttpResponse:
        context.update(self.banner_context(request))
        return super().render_change_form(request, context, *args, **options)


def silence(alias: str) -> str:
    """Say since when no scheduler has ticked in the database; empty if one does.

    By the database's clock, as in :func:`~django_dyncron.health.read_health`.
    """
    replicas = read_replicas(alias)
    if not replicas:
        return _("No scheduler has ever run: start “manage.py run_dyncron”.")
    if any(replica.state is ReplicaState.RUNNING for replica in replicas):
        return ""
    last = replicas[0]
    now = last.seen_at + last.age
    words = (
        _("No scheduler has ticked for %(time)s (last: %(replica)s, %(moment)s).")
        if last.stopped_at is None
        else _("No scheduler has run for %(time)s (last: %(replica)s, stopped %(moment)s).")
    )
    return words % {
        "time": timesince(last.seen_at, now),
        "replica": last.replica_id,
        "moment": _clock(last.seen_at, now),
    }


def _told_of(pause: Pause, now: datetime) -> SafeString:
    """Return ``Everything is paused since 10:02 by ann: deploy``."""
    words = (
        _("Everything is paused since %(moment)s by %(name)s")
        if pause.paused_by
        else _("Everything is paused since %(moment)s")
    )
    told = words % {"moment": _clock(pause.since, now), "name": pause.paused_by}
    return format_html("{}{}", told, f": {pause.reason}" if pause.reason else ".")


def _clock(moment: datetime, now: datetime) -> str:
    """Return the time; with the date if that is another day's."""
    local = timezone.localtime(moment)
    is_today = local.date() == timezone.localtime(now).date()
    return f"{local:%H:%M}" if is_today else exact(moment)
