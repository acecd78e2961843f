"""Addresses in the admin, for those who may go there."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from ..models import CronRun


def may_see_runs(request: HttpRequest, site: admin.AdminSite) -> bool:
    """Return whether what became of runs may be shown, in the list of runs or elsewhere."""
    runs_admin = site._registry.get(CronRun)
    if runs_admin is None:
        return request.user.has_perm("django_dyncron.view_cronrun")
    return runs_admin.has_view_permission(request)


def run_url(run: CronRun, request: HttpRequest, site: admin.AdminSite) -> str | None:
    """Return the address of a run; ``None`` for those who may not see it."""
    if not may_see_runs(request, site):
        return None
    try:
        return reverse("admin:django_dyncron_cronrun_change", args=[run.pk], current_app=site.name)
    except NoReverseMatch:
        return None
