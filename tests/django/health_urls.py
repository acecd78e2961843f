"""URLs of a site that has nothing but the health view."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [path("cron/", include("django_dyncron.urls"))]
