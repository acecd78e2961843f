"""Actions on the form, by the protocol that Django has for them from 6.1 on, and before it as well.

They are buttons beside the form, each a form of its own: inside of it a press of Enter would take
an action instead of saving.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, TypeVar

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import model_format_dict, unquote
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext_lazy as _

from ..models import CronJob
from .database import Base

FORM_ACTION = "CHANGE_FORM-action"
"""The name under which an action of a form is posted."""

_location: Any = getattr(admin.options, "ActionLocation", None)
_HAS_FORM_ACTIONS = _location is not None
_BUTTONS = {"run_jobs": _("Run now"), "pause_jobs": _("Pause"), "resume_jobs": _("Resume")}
_OF_STATE = {"pause_jobs": True, "resume_jobs": False}
"""Which make sense for a job only if it is active, or only if it is not."""

_Action = TypeVar("_Action", bound=Callable[..., Any])


def job_action(permission: str, for_many: Any, name: Any) -> Callable[[_Action], _Action]:
    """Say what an action takes, and how it is called on the list and, from 6.1 on, on the form."""

    def decorate(function: _Action) -> _Action:
        action: Any = function
        action.allowed_permissions = (permission,)
        action.short_description = name if _HAS_FORM_ACTIONS else for_many
        action.plural_description = for_many
        if _HAS_FORM_ACTIONS:
            action.locations = [_location.CHANGE_LIST, _location.CHANGE_FORM]
        return function

    return decorate


class FormActionsMixin(Base):
    """Puts buttons on the form of a job, and takes their actions where Django does not."""

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, *args: Any, **options: Any
    ) -> HttpResponse:
        if _HAS_FORM_ACTIONS or object_id is None or FORM_ACTION not in request.POST:
            return super().changeform_view(request, object_id, *args, **options)
        return self._act(request, object_id)

    def _act(self, request: HttpRequest, object_id: str) -> HttpResponse:
        job = self.get_object(request, unquote(object_id))
        if not self.has_view_or_change_permission(request, job):
            raise PermissionDenied
        if job is None or request.POST.getlist(ACTION_CHECKBOX_NAME) != [str(job.pk)]:
            raise BadRequest
        action = self._form_actions(request).get(request.POST[FORM_ACTION])
        if action is None:
            self.message_user(request, _("No action selected."), messages.WARNING)
        else:
            chosen = self.get_queryset(request).filter(pk=job.pk)
            response = action[0](self, request, chosen)
            if isinstance(response, HttpResponse):
                return response
        return HttpResponseRedirect(request.get_full_path())

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any
    ) -> HttpResponse:
        job = context.get("original")
        if job is not None:
            context["dyncron_buttons"] = self._buttons(request, job)
            context["dyncron_form_action"] = FORM_ACTION
        return super().render_change_form(request, context, *args, **options)

    def _buttons(self, request: HttpRequest, job: CronJob) -> list[tuple[str, Any]]:
        return [
            (name, label)
            for name, (_function, label) in self._form_actions(request).items()
            if _OF_STATE.get(name, job.is_active) == job.is_active
        ]

    def _form_actions(self, request: HttpRequest) -> dict[str, tuple[Callable[..., Any], Any]]:
        """Return what may be done on the form, by name, and what stands on its button."""
        if not _HAS_FORM_ACTIONS:
            allowed: Any = self.get_actions(request)
            return {
                name: (allowed[name][0], label)
                for name, label in _BUTTONS.items()
                if name in allowed
            }
        get_actions: Callable[..., dict[str, Any]] = self.get_actions
        if "action_location" not in signature(get_actions).parameters:
            # Django takes none on the form then, so there are no buttons either.
            return {}
        found = get_actions(request, action_location=_location.CHANGE_FORM)
        words = model_format_dict(self.opts)
        return {
            name: (function, _BUTTONS.get(name, description % words))
            for name, action in found.items()
            for function, description in [_parts_of(action)]
        }


def _parts_of(action: Any) -> tuple[Callable[..., Any], str]:
    """Return the function and the description; before Django 6.1 an action was a tuple."""
    if isinstance(action, tuple):
        return action[0], action[2]
    return action.func, action.description
