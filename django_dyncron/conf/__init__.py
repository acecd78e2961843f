"""``settings.DYNCRON``: read when asked, checked value by value, never cached.

``values`` reads the plain values, ``backends`` builds whatever is named by a string or by a
``BACKEND``, ``locks`` and ``enqueuers`` know the short names. Every error is a
:class:`ConfigurationError` that names its place in the settings.
"""

from __future__ import annotations

from .backends import load_repository
from .databases import database_alias
from .enqueuers import load_enqueuer, load_enqueuers, load_hook_modules, load_worker_modules
from .errors import ConfigurationError, MissingClient, UnknownKey
from .locks import load_lock_provider
from .values import DyncronSettings, get_settings, read_settings

__all__ = [
    "ConfigurationError",
    "DyncronSettings",
    "MissingClient",
    "UnknownKey",
    "database_alias",
    "get_settings",
    "load_enqueuer",
    "load_enqueuers",
    "load_hook_modules",
    "load_lock_provider",
    "load_repository",
    "load_worker_modules",
    "read_settings",
]
