"""The page that the sample project pings."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse


def ping(request: HttpRequest) -> HttpResponse:
    return HttpResponse("pong\n", content_type="text/plain")
