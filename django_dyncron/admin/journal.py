"""Who did what, in the admin's own log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.contrib.admin.models import CHANGE, LogEntry
from django.db.models import Model
from django.http import HttpRequest

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractUser


def log(request: HttpRequest, rows: Sequence[Model], note: str) -> int:
    """Note who did it to ``rows``; return how many they are."""
    if rows:
        LogEntry.objects.log_actions(_user(request).pk, rows, CHANGE, note)
    return len(rows)


def username(request: HttpRequest) -> str:
    """Return the name of who is logged in."""
    return _user(request).get_username()


def _user(request: HttpRequest) -> AbstractUser:
    return request.user  # type: ignore[return-value]
