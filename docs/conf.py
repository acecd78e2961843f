"""Sphinx configuration."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import django
from docutils.nodes import Element
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()

from django_dyncron import __version__  # noqa: E402 - from the checkout

project = "django-dyncron"
author = "django-dyncron contributors"
copyright = author
release = __version__

extensions = ["sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
default_role = "py:obj"

html_theme = "furo"
html_title = f"django-dyncron {release}"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 88

# Other projects' objects are not looked up, so that the build needs no network.
nitpick_ignore_regex = [
    (
        "py:.*",
        r"(asyncio|collections|concurrent|contextlib|datetime|logging|typing|uuid|zoneinfo)\..*",
    ),
    (
        "py:.*",
        r"(asgiref|celery|django|django_redis|django_tasks|prometheus_client|psycopg|redis)\..*",
    ),
    # Type variables, and names that are imported for the type checker only.
    ("py:class", r"django_dyncron\..*\._[A-Z]|django_dyncron\.(systemd|watchdog)\..*"),
    ("py:class", r"ValidationError|datetime|dict\[str|Job"),
]


def setup(app: Sphinx) -> None:
    """Connect what this documentation needs of its own."""
    app.connect("missing-reference", find_by_last_name)


def find_by_last_name(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, text: Element
) -> Element | None:
    """Find what a docstring calls by its last name alone, as its own module does."""
    domain, kind = env.domains.python_domain, node["reftype"]
    ending = f".{node['reftarget']}"
    found = [name for name, entry in domain.objects.items() if name.endswith(ending)]
    found = [name for name in found if not domain.objects[name].aliased]
    if node["refdomain"] != "py" or len(found) != 1:
        return None
    return domain.resolve_xref(env, node["refdoc"], app.builder, kind, found[0], node, text)
