"""The addresses of this app: ``include("django_dyncron.urls")``."""

from __future__ import annotations

from django.urls import path

from .views import health

app_name = "django_dyncron"

urlpatterns = [path("health/", health, name="health")]
