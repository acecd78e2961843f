"""Pages about tasks that the package of a queue adds to the admin."""

from __future__ import annotations

from django.urls import NoReverseMatch, reverse


def admin_page(name: str, *args: object) -> str | None:
    """Return the address of a page, or ``None`` if the admin has no such."""
    try:
        return reverse(f"admin:{name}", args=args)
    except NoReverseMatch:
        return None
