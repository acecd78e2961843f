"""Django for one peer, on a database that its migrations fill."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit


def set_up(url: str, *apps: str, **settings: Any) -> None:
    """Configure Django with ``apps`` on the PostgreSQL database of ``url``, and migrate it."""
    import django
    from django.conf import settings as django_settings
    from django.core.management import call_command

    parts = urlsplit(url)
    database = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.removeprefix("/"),
        "USER": parts.username,
        "HOST": parts.hostname,
        "PORT": parts.port,
    }
    django_settings.configure(
        DATABASES={"default": database},
        INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", *apps],
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        SECRET_KEY="bench",
        USE_TZ=True,
        **settings,
    )
    django.setup()
    call_command("migrate", verbosity=0)
