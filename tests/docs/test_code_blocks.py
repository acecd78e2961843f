"""Code in the documentation and in the README that can be judged without running it."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from django.utils.module_loading import import_string

from django_dyncron import CronJobDefinition
from django_dyncron.conf import get_settings, load_lock_provider, read_settings
from django_dyncron.conf.enqueuers import _target, enqueuer_names
from django_dyncron.models import CronJob
from tests.docs.blocks import PAGES, ROOT, Block, blocks

EVERYTHING = [block for page in PAGES for block in blocks(page)]
PYTHON = [block for block in EVERYTHING if block.language == "python"]


def test_there_is_code_to_judge() -> None:
    assert len(PYTHON) > 50
    assert len([block for block in PYTHON if "DYNCRON" in block.text]) > 10


@pytest.mark.parametrize("block", PYTHON, ids=str)
def test_python_compiles(block: Block) -> None:
    tree = _parsed(block)
    compile(tree, str(block), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize(
    "block", [block for block in EVERYTHING if block.language == "json"], ids=str
)
def test_json_can_be_read(block: Block) -> None:
    json.loads(block.text)


@pytest.mark.parametrize("block", [block for block in PYTHON if "DYNCRON" in block.text], ids=str)
def test_settings_are_accepted(block: Block) -> None:
    for value in _settings(_parsed(block)):
        _check(value)


def test_settings_printed_by_their_key_are_accepted() -> None:
    """On the page of the settings most are printed as what stands inside of ``DYNCRON``."""
    page = ROOT / "docs" / "reference" / "settings.rst"
    inside = [block for block in blocks(page) if block.text.startswith('"')]
    assert len(inside) > 3
    for block in inside:
        _check(ast.literal_eval(f"{{{block.text}}}"))


@pytest.mark.django_db
def test_the_row_that_is_printed_is_a_whole_job() -> None:
    page = ROOT / "docs" / "reference" / "tables.rst"
    (insert,) = (block for block in blocks(page) if block.text.startswith("INSERT"))
    with connection.cursor() as cursor:
        cursor.execute(insert.text)
    job = CronJob.objects.get()
    assert job.definition() == CronJobDefinition(
        "nightly-report", "shop.tasks.build_report", "0 2 * * *"
    )


def _parsed(block: Block) -> ast.Module:
    """Return the tree of a block, which may be what stands inside of a dict."""
    text = f"{{{block.text}}}" if block.text.startswith('"') else block.text
    return ast.parse(text, str(block))


def _settings(tree: ast.Module) -> Iterator[dict[str, Any]]:
    """Yield what is assigned to ``DYNCRON``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "DYNCRON" for target in node.targets
        ):
            yield ast.literal_eval(node.value)


def _check(value: dict[str, Any]) -> None:
    with override_settings(DYNCRON=value):
        settings, errors = read_settings()
        assert errors == []
        if _is_ours(settings.lock_provider):
            load_lock_provider(settings)
        for name in enqueuer_names(settings):
            _path, target, options = _target(name, get_settings())
            if target.startswith("django_dyncron."):
                inspect.signature(import_string(target)).bind(**options)


def _is_ours(provider: Any) -> bool:
    """Tell whether a lock provider comes with this package, and not from the reader's."""
    backend = provider["BACKEND"] if isinstance(provider, dict) else provider or ""
    return "://" in backend or "." not in backend
