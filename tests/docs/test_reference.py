"""Everything that has a name for users is in the reference, and nothing that does not exist."""

from __future__ import annotations

import inspect
import re
import tomllib
from argparse import Action
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib.auth import get_permission_codename
from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand
from django.dispatch import Signal
from django.utils.module_loading import import_string

import django_dyncron
from django_dyncron import signals
from django_dyncron.conf.enqueuers import _SHORT_NAMES
from django_dyncron.conf.values import KEYS
from tests.docs.blocks import PAGES, ROOT, blocks

REFERENCE = ROOT / "docs" / "reference"
PACKAGE = ROOT / "django_dyncron"
COMMANDS = sorted(name for name, app in get_commands().items() if app == "django_dyncron")
LOCK_PROVIDERS = [
    "redis.RedisLockProvider",
    "postgres.PostgresLockProvider",
    "sqlite.SqliteLockProvider",
    "memory.MemoryLockProvider",
]
NOBODY_ASKS_FOR = {
    f"{action}_{model}"
    for model in ("cronrun", "replica", "cronlock")
    for action in ("add", "change", "delete")
} | {"view_cronlock"}
"""Permissions that Django makes for tables which nobody may edit."""


def page(name: str) -> str:
    return (REFERENCE / f"{name}.rst").read_text()


def labels(text: str, prefix: str) -> list[str]:
    return re.findall(rf"^\.\. _{re.escape(prefix)}(\S+):$", text, re.MULTILINE)


def section(text: str, title: str) -> str:
    """Return what stands below the heading ``title``, up to the next one of its kind."""
    heading = re.search(rf"^{re.escape(title)}\n(([^\w\s])\2+)\n", text, re.MULTILINE)
    assert heading, f"There is no section {title}."
    rest = text[heading.end() :]
    following = re.search(rf"^\S.*\n{re.escape(heading[2])}{{3,}}\n", rest, re.MULTILINE)
    return rest[: following.start()] if following else rest


def terms(text: str) -> set[str]:
    """Return the literals with which a line begins: terms, headings, first cells of a table."""
    found: set[str] = set()
    for line in text.splitlines():
        if begins := re.match(r"(?:\s*\* - |\s{0,3})((?:``[^`]+``(?:, | or | )?)+)", line):
            found.update(re.findall(r"``([^`]+)``", begins[1]))
    return found


# --- settings -------------------------------------------------------------------------------------


def test_every_setting_has_its_section() -> None:
    documented = [label.replace("-", "_").upper() for label in labels(page("settings"), "setting-")]
    assert sorted(documented) == sorted(KEYS)


def test_every_setting_is_in_the_table() -> None:
    in_table = re.findall(
        r"^   \* - :ref:`([A-Z_]+) <setting-[a-z-]+>`$", page("settings"), re.MULTILINE
    )
    assert sorted(in_table) == sorted(KEYS)


# --- system checks --------------------------------------------------------------------------------


def test_every_check_is_described() -> None:
    sources = [file.read_text() for file in PACKAGE.rglob("*.py")]
    ids = {id_ for source in sources for id_ in re.findall(r"django_dyncron\.([EWI]\d{3})", source)}
    assert ids
    documented = labels(page("system-checks"), "django_dyncron.")
    assert sorted(documented) == sorted(ids)
    assert {id_.removeprefix("django_dyncron.") for id_ in terms(page("system-checks"))} >= ids


# --- commands -------------------------------------------------------------------------------------


def arguments(command: str) -> list[Action]:
    """Return what a command takes beyond what every command does."""
    parser = load_command_class("django_dyncron", command).create_parser("manage.py", command)
    of_all = BaseCommand().create_parser("manage.py", command)
    known = {option for action in of_all._actions for option in action.option_strings}
    return [action for action in parser._actions if not known & set(action.option_strings)]


def options(command: str) -> set[str]:
    strings = (option for action in arguments(command) for option in action.option_strings)
    return {option for option in strings if option.startswith("--")}


def test_there_are_commands() -> None:
    assert {"run_dyncron", "dyncron_preview", "dyncron_prune"} <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_described(command: str) -> None:
    described = terms(section(page("commands"), command))
    documented = {term.split()[0] for term in described if term.startswith("--")}
    assert documented == options(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_argument_is_described(command: str) -> None:
    text = section(page("commands"), command)
    for action in arguments(command):
        if not action.option_strings:
            name = action.metavar if isinstance(action.metavar, str) else action.dest
            assert name.upper() in text.upper()


def test_commands_are_printed_with_options_they_have() -> None:
    wrong = [
        f"{place}: {command} {option}"
        for place, command, option in printed_options()
        if option not in options(command)
    ]
    assert wrong == []


def printed_options() -> Iterator[tuple[str, str, str]]:
    """Yield where an option of a command of ours is printed, anywhere in the documentation."""
    of_all = {"--settings", "--verbosity", "--help", "--no-color", "--traceback", "--skip-checks"}
    for file in PAGES:
        for number, line in enumerate(file.read_text().splitlines(), 1):
            for command, rest in re.findall(r"\b(run_dyncron|dyncron_[a-z]+)((?: [^`|]*)?)", line):
                for option in re.findall(r"(?<=\s)--[a-z][a-z-]*", rest):
                    if command in COMMANDS and option not in of_all:
                        yield f"{file.relative_to(ROOT)}:{number}", command, option


# --- permissions ----------------------------------------------------------------------------------


def test_every_permission_is_described() -> None:
    real = set()
    for model in apps.get_app_config("django_dyncron").get_models():
        options = model._meta
        real |= {get_permission_codename(each, options) for each in options.default_permissions}
        real |= {codename for codename, _ in options.permissions}
    documented = {term for term in terms(page("permissions")) if term.startswith("django_dyncron.")}
    named = {term.removeprefix("django_dyncron.") for term in documented}
    assert real >= NOBODY_ASKS_FOR
    assert named == real - NOBODY_ASKS_FOR


# --- tables ---------------------------------------------------------------------------------------


def columns(text: str) -> list[str]:
    """Return what stands in the first cells of the tables."""
    cells = re.findall(r"^   \* - ((?:``\w+``[,\s]*)+)$", text, re.MULTILINE)
    return [column for cell in cells for column in re.findall(r"``(\w+)``", cell)]


@pytest.mark.parametrize(
    "title,model",
    [
        ("Cron jobs", "cronjob"),
        ("Runs", "cronrun"),
        ("Pauses of everything", "pause"),
        ("Replicas", "replica"),
        ("Locks", "cronlock"),
    ],
)
def test_every_column_is_described(title: str, model: str) -> None:
    options = apps.get_model("django_dyncron", model)._meta
    text = section(page("tables"), title)
    assert options.db_table in text
    assert sorted(columns(text)) == sorted(field.column for field in options.concrete_fields)


# --- signals and metrics --------------------------------------------------------------------------


def first_cells(text: str) -> set[str]:
    return set(re.findall(r"^   \* - ``(\w+)``$", text, re.MULTILINE))


def test_every_signal_is_described() -> None:
    names = {name for name, value in vars(signals).items() if isinstance(value, Signal)}
    assert "run_enqueued" in names
    assert first_cells(page("signals")) == names


def test_every_metric_is_described() -> None:
    sources = [file.read_text() for file in (PACKAGE / "metrics").glob("*.py")]
    names = {name for source in sources for name in re.findall(r'"(dyncron_[a-z_]+)"', source)}
    assert "dyncron_lateness_seconds" in names
    # The client adds "_total" to the name of a counter.
    assert {name.removesuffix("_total") for name in first_cells(page("metrics"))} == names


# --- adapters and extras --------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in _SHORT_NAMES if name != "local"])
def test_every_option_of_an_enqueuer_is_described(name: str) -> None:
    text = section(page("enqueuers"), "Options of the others")
    documented = re.findall(rf'^   \* - ``"{name}"``\n     - ``(\w+)``$', text, re.MULTILINE)
    assert documented == list(inspect.signature(import_string(_SHORT_NAMES[name])).parameters)


def test_every_option_of_the_local_enqueuer_is_described() -> None:
    parameters = list(inspect.signature(import_string(_SHORT_NAMES["local"])).parameters)
    documented = terms(section(page("enqueuers"), "``local``"))
    assert {term for term in documented if term.islower()} == set(parameters)


@pytest.mark.parametrize("path", LOCK_PROVIDERS)
def test_every_option_of_a_lock_provider_is_described(path: str) -> None:
    described = set(re.findall(r"``(\w+)", page("lock-providers")))
    provider = import_string(f"django_dyncron.locks.{path}")
    assert set(inspect.signature(provider).parameters) <= described


def test_every_extra_is_described() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    documented = re.findall(r"^``([a-z-]+)``", page("extras"), re.MULTILINE)
    assert sorted(documented) == sorted(project["optional-dependencies"])


def test_no_extra_is_printed_that_is_none() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts = [file.read_text() for file in PAGES]
    printed = {
        extra
        for text in texts
        for extras in re.findall(r"django-dyncron\[([a-z,-]+)\]", text)
        for extra in extras.split(",")
    }
    assert printed <= set(project["optional-dependencies"])


# --- the API --------------------------------------------------------------------------------------


def test_the_facade_is_on_the_page_of_the_api() -> None:
    documented = re.findall(r"^\.\. auto\w+:: (\w+)(?:\(\))?$", page("api"), re.MULTILINE)
    assert set(django_dyncron.__all__) <= set(documented)


def test_files_on_the_page_about_the_architecture_exist() -> None:
    text = (ROOT / "docs" / "explanation" / "architecture.rst").read_text()
    named = re.findall(r"``(?:django_dyncron/)?([a-z_]+(?:/[a-z_]+)*(?:\.py|/))``", text)
    assert len(named) > 30
    inside = {name for name in named if not name.startswith("tests/")}
    assert {name for name in inside if not (PACKAGE / name).exists()} == set()
    assert {name for name in set(named) - inside if not (ROOT / name).exists()} == set()


def test_the_documented_version_is_this_one() -> None:
    changelog = (ROOT / "CHANGELOG.rst").read_text()
    assert re.search(rf"^{re.escape(django_dyncron.__version__)} \(", changelog, re.MULTILINE)


@pytest.mark.parametrize("file", PAGES, ids=lambda file: str(file.relative_to(ROOT)))
def test_pages_have_code_blocks_that_say_their_language(file: Path) -> None:
    text = file.read_text()
    assert "::\n\n    " not in re.sub(r"^\.\. .*::.*$", "", text, flags=re.MULTILINE)
    assert all(block.text.strip() for block in blocks(file))
