"""The health view: 200 while cron jobs are looked after, 503 while they are not."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import connections, transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from .conf import ConfigurationError, database_alias, read_settings
from .conf.errors import setting_path
from .health import Health, read_health_in_time
from .health.max_age import read_max_age
from .health.report import as_json

_logger = logging.getLogger("django_dyncron")

_PATIENCE_SECONDS = 5.0
"""A probe is told that the database is slow before it loses patience itself."""
_DECIDING = (setting_path("HEALTH_TOKEN"), setting_path("DATABASE"))

View = Callable[[HttpRequest], HttpResponse]


def _outside_transactions(view: View) -> View:
    """Keep ``ATOMIC_REQUESTS`` from connecting to a database that may be away."""
    for alias in connections:
        view = transaction.non_atomic_requests(using=alias)(view)
    return view


@_outside_transactions
@never_cache
@require_safe
def health(request: HttpRequest) -> HttpResponse:
    """Answer 200 or 503 and the JSON of :func:`~django_dyncron.health.report.as_json`.

    401 for who lacks the ``HEALTH_TOKEN``, 400 for a ``max_age`` that makes no sense.
    """
    try:
        settings = _settings()
        alias = database_alias(settings)
    except ConfigurationError as error:
        # Not as if there was no token: whoever mistyped it wanted one.
        return _trouble("misconfigured", str(error))
    token = settings.health_token
    if token is not None and not _bears(request, token):
        answer = JsonResponse({"status": "unauthorized"}, status=401)
        answer.headers["WWW-Authenticate"] = "Bearer"
        return answer
    try:
        max_age = _max_age(request)
    except ValueError as error:
        return JsonResponse({"status": "bad request", "error": str(error)}, status=400)
    try:
        found = read_health_in_time(_PATIENCE_SECONDS, alias, max_age)
    except Exception:
        _logger.exception("health check failed", extra={"action": "health_check_failed"})
        return _trouble("check_failed")
    return _answer(found, reveals=token is not None)


# With LoginRequiredMiddleware a probe would be sent to the login page.
health.login_required = False  # type: ignore[attr-defined]


def _settings() -> Any:
    settings, errors = read_settings()
    for error in errors:
        if error.path in _DECIDING:
            raise error
    return settings


def _bears(request: HttpRequest, token: str) -> bool:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    # Django decodes headers as Latin-1, whatever they were meant to be.
    sent = given.strip().encode("latin-1", "replace")
    # Servers cut blanks off a header, so one at the end of a token can never come.
    return constant_time_compare(sent, token.strip().encode()) and scheme.lower() == "bearer"


def _max_age(request: HttpRequest) -> timedelta | None:
    text = request.GET.get("max_age")
    if text is None:
        return None
    try:
        return read_max_age(text)
    except ValueError as error:
        raise ValueError(f"max_age must be {error}") from None


def _answer(found: Health, *, reveals: bool) -> HttpResponse:
    return JsonResponse(as_json(found, reveals=reveals), status=200 if found.is_healthy else 503)


def _trouble(code: str, log: str = "") -> HttpResponse:
    if log:
        _logger.error("health check: %s", log, extra={"action": "health_check_failed"})
    report = {"status": "unhealthy", "problems": [{"code": code}], "warnings": []}
    return JsonResponse(report, status=503)
