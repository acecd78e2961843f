"""Addresses in the admin, for those who may go there."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from ..models import CronRun


def run_url(run: CronRun, request: HttpRequest, site: admin.AdminSite) -> str | None:
    """Return the address of a run; ``None`` for those who may not see it."""
    runs_admin = site._registry.get(CronRun)
    if runs_admin is None or not runs_admin.has_view_permission(request):
        return None
    try:
        return reverse("admin:django_dyncron_cronrun_change", args=[run.pk], current_app=site.name)
    except NoReverseMatch:
        return None
