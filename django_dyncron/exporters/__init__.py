"""Jobs for elsewhere: one format, one file."""

from __future__ import annotations

from .crontab import write_crontab
from .documents import write_json

__all__ = ["write_crontab", "write_json"]
