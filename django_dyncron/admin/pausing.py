"""Pausing everything, and resuming it: two addresses, for those who may pause."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from .. import pausing
from .banners import BannersMixin
from .journal import log, username
from .permissions import JobPermissionsMixin
from .reasons import ask_reason, given_reason

_PAUSE, _RESUME = "pause_everything", "resume_everything"


class PauseEverythingMixin(BannersMixin, JobPermissionsMixin):
    """Adds the two, and what the list and the form need to offer them."""

    def get_urls(self) -> list[URLPattern]:
        views = (
            ("pause-everything/", self.pause_everything, _PAUSE),
            ("resume-everything/", require_POST(self.resume_everything), _RESUME),
        )
        return [
            *(
                path(route, self.admin_site.admin_view(view), name=self._name_of(name))
                for route, view, name in views
            ),
            *super().get_urls(),
        ]

    def pause_everything(self, request: HttpRequest) -> HttpResponse:
        """Ask for the reason, then pause."""
        if not self._may_pause_everything(request):
            raise PermissionDenied
        reason = given_reason(request)
        if reason is None and pausing.current_pause() is None:
            return ask_reason(self, request, _("Pause everything"))
        pause = None if reason is None else pausing.begin_pause(reason, username(request))
        if pause is None:
            self.message_user(request, _("Everything is paused already."), messages.WARNING)
        else:
            note = f"Paused everything: {reason}" if reason else "Paused everything."
            log(request, [pause], note)
        return self._back_to_list()

    def resume_everything(self, request: HttpRequest) -> HttpResponse:
        """Resume, if everything is paused."""
        if not self._may_pause_everything(request):
            raise PermissionDenied
        pause = pausing.current_pause()
        if pause is not None and pausing.resume_all(username(request)):
            log(request, [pause], "Resumed everything.")
            words = _("Everything is resumed; slots that passed meanwhile are not made up.")
            self.message_user(request, words, messages.SUCCESS)
        return self._back_to_list()

    def banner_context(self, request: HttpRequest) -> dict[str, Any]:
        context = super().banner_context(request)
        if self._may_pause_everything(request):
            wanted = _PAUSE if context["dyncron_pause"] is None else _RESUME
            context[f"dyncron_{wanted}_url"] = self._address_of(self._name_of(wanted))
        return context

    def _may_pause_everything(self, request: HttpRequest) -> bool:
        return self.has_pause_permission(request) and self.has_view_permission(request)

    def _back_to_list(self) -> HttpResponse:
        return HttpResponseRedirect(self._address_of(self._name_of("changelist")))

    def _name_of(self, view: str) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{view}"

    def _address_of(self, name: str) -> str:
        return reverse(f"admin:{name}", current_app=self.admin_site.name)
