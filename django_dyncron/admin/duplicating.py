"""Duplicating a cron job: a form to add one, filled in like another."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _

from ..models import CronJob
from .database import Base

_COPY_OF = "_copy_of"


class DuplicateMixin(Base):
    """Adds the action, and a link on the form."""

    @admin.action(permissions=["add"], description=_("Duplicate the selected cron job"))
    def duplicate_job(
        self, request: HttpRequest, queryset: QuerySet[CronJob]
    ) -> HttpResponse | None:
        keys = list(queryset.values_list("pk", flat=True)[:2])
        if len(keys) == 1:
            return HttpResponseRedirect(self._duplicate_url(keys[0]))
        self.message_user(request, _("Select a single cron job to duplicate."), messages.WARNING)
        return None

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any
    ) -> HttpResponse:
        job = context.get("original")
        if job is not None and self.has_add_permission(request):
            context["dyncron_duplicate_url"] = self._duplicate_url(job.pk)
        return super().render_change_form(request, context, *args, **options)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        initial: dict[str, Any] = super().get_changeform_initial_data(request)
        key = initial.pop(_COPY_OF, None)
        if key is None:
            return initial
        job = self.get_object(request, str(key))
        if not self.has_view_or_change_permission(request, job):
            raise PermissionDenied
        if job is None:
            return initial
        # The scheduler's columns and the moment of creation are not for a form; nor is the name,
        # which is for a person to say.
        return initial | {
            field.name: field.value_from_object(job)
            for field in self.opts.concrete_fields
            if field.editable and field.name != "job_id"
        }

    def _duplicate_url(self, key: int) -> str:
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_add"
        address = reverse(name, current_app=self.admin_site.name)
        return f"{address}?{urlencode({_COPY_OF: key})}"
