"""The way from the index of the admin to a page that is none of Django's."""

from __future__ import annotations

from django import VERSION

HAS_CRUMBS_IN_LIST = VERSION >= (6, 1)
"""Whether the admin has its breadcrumbs in an ordered list. Before, they were text and links."""
