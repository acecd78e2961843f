"""The table of enqueuers in the documentation says what their classes say."""

from __future__ import annotations

import re
import tomllib
from inspect import signature
from pathlib import Path

import pytest
from django.test import modify_settings, override_settings
from django.utils.module_loading import import_string

from django_dyncron.conf.enqueuers import _SHORT_NAMES
from django_dyncron.core.ports import ITaskEnqueuer

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "enqueuers.rst").read_text()
RQ = {"URL": "redis://127.0.0.1:1/0"}
NAME, EXTRA, JOINS, REFUSES, BATCHES, TELLS = range(6)


def _rows() -> list[list[str]]:
    table = PAGE.partition("Which there are\n")[2].partition("\nJoins the transaction\n")[0]
    head, *rows = re.split(r"^   \* - ", table, flags=re.MULTILINE)[1:]
    assert "Enqueuer" in head
    return [re.split(r"^     - ", row, flags=re.MULTILINE) for row in rows]


ROWS = _rows()


def _short_name(row: list[str]) -> str:
    found = re.match(r'``"(\w+)"``, (:doc:|:ref:)', row[NAME])
    assert found is not None, row[NAME]
    return found[1]


def _says_yes(cell: str) -> bool:
    word = re.split(r"\W", cell, maxsplit=1)[0]
    assert word in ("yes", "no"), cell
    return word == "yes"


def test_every_enqueuer_is_in_the_table() -> None:
    assert {_short_name(row) for row in ROWS} == set(_SHORT_NAMES)
    assert {len(row) for row in ROWS} == {6}


def _assert_true(row: list[str], enqueuer: ITaskEnqueuer | type[ITaskEnqueuer]) -> None:
    assert _says_yes(row[REFUSES]) == enqueuer.refuses_repeated_ids
    assert _says_yes(row[BATCHES]) == enqueuer.sends_batches
    assert _says_yes(row[TELLS]) == enqueuer.reports_ends


OF_CLASSES = [row for row in ROWS if _short_name(row) != "django_tasks"]


@pytest.mark.parametrize("row", OF_CLASSES, ids=_short_name)
def test_a_row_says_what_its_class_says(row: list[str]) -> None:
    enqueuer = import_string(_SHORT_NAMES[_short_name(row)])
    _assert_true(row, enqueuer)
    joins = enqueuer.transaction_alias is not ITaskEnqueuer.transaction_alias
    assert _says_yes(row[JOINS]) == joins


@pytest.mark.parametrize(
    "package, backend",
    [
        ("django-tasks-db", "django_tasks_db.DatabaseBackend"),
        ("django-tasks-rq", "django_tasks_rq.RQBackend"),
    ],
)
def test_what_django_tasks_can_depends_on_the_backend(package: str, backend: str) -> None:
    (row,) = (row for row in ROWS if f":doc:`with {package} <" in row[NAME])
    with (
        modify_settings(INSTALLED_APPS={"append": ["django_tasks_db", "django_rq"]}),
        override_settings(TASKS={"default": {"BACKEND": backend}}, RQ_QUEUES={"default": RQ}),
    ):
        enqueuer = import_string(_SHORT_NAMES["django_tasks"])()
        _assert_true(row, enqueuer)
        assert _says_yes(row[JOINS]) == (enqueuer.transaction_alias() is not None)


def test_the_options_are_those_of_the_classes() -> None:
    table = PAGE.partition("Options of the others\n")[2].partition("Your own\n")[0]
    listed = re.findall(r'^   \* - ``"(\w+)"``\n     - ``(\w+)``$', table, flags=re.MULTILINE)
    taken = [
        (name, option)
        for name in _SHORT_NAMES
        if name != "local"
        for option in signature(import_string(_SHORT_NAMES[name])).parameters
    ]
    assert listed == taken


def test_the_extras_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {row[EXTRA].strip(" `\n") for row in ROWS} - {"none"}
    assert extras <= set(project["optional-dependencies"])
    assert extras == {name.replace("_", "-") for name in _SHORT_NAMES} - {"local"}


def test_the_pages_it_links_to_exist() -> None:
    linked = re.findall(r"(?:\s<|`)\.\./(howto/use-[a-z-]+)", " ".join(row[NAME] for row in ROWS))
    assert len(linked) == len(ROWS) - 1
    for page in linked:
        assert (ROOT / "docs" / f"{page}.rst").exists(), page
