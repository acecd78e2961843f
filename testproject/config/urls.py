"""URLs of the sample project: the admin, and a page for it to ping."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path
from django.views.generic import RedirectView

from samples.views import ping

urlpatterns = [
    path("admin/", admin.site.urls),
    path("ping/", ping),
    path("", RedirectView.as_view(pattern_name="admin:index")),
]
