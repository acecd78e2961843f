"""Everything that users may rely on, as lines of text.

The names are those of ``docs/reference/api.rst``, the rest is asked of the package itself.
``make public-api`` writes the lines to ``tests/data/public_api.txt``, where a test expects them.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PINNED = Path(__file__).resolve().parent / "data" / "public_api.txt"

_MODULES = ["django_dyncron", "django_dyncron.metrics", "django_dyncron.signals"]
_MODULES += ["django_dyncron.testing"]
_DIRECTIVE = re.compile(
    r"^\.\. (?P<kind>currentmodule|auto\w+):: (?P<name>[\w.]+)(?P<bare>\(\))?"
    r"(?P<options>(?:\n[ ]{3,}\S.*)*)",
    re.MULTILINE,
)
_MEMBERS = re.compile(r":members:(?P<names>[^:]*)")


class _Verbatim:
    """An annotation as it was written; the source of a postponed one would be shown in quotes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def lines() -> list[str]:
    """Return all there is, under headings."""
    parts = {
        "Names": _exported(),
        "Reference": _documented(),
        "Settings": _settings(),
        "Commands": _commands(),
        "Tables": _tables(),
        "Permissions": _permissions(),
        "Checks": _checks(),
        "Addresses": _addresses(),
        "Metrics": _metrics(),
        "Extras": _extras(),
    }
    found: list[str] = []
    for title, part in parts.items():
        found += [*([""] if found else []), f"# {title}", *dict.fromkeys(part)]
    # A function as a default is shown with its place in memory.
    return [re.sub(r" at 0x[0-9a-f]+", "", line) for line in found]


def _exported() -> Iterator[str]:
    for name in _MODULES:
        for each in sorted(import_module(name).__all__):
            yield f"{name}.{each}"


# --- what the reference names ---


def _documented() -> Iterator[str]:
    text = (ROOT / "docs" / "reference" / "api.rst").read_text(encoding="utf-8")
    module = "django_dyncron"
    for found in _DIRECTIVE.finditer(text):
        name, options = found["name"], found["options"]
        members = _MEMBERS.search(options)
        names = re.findall(r"\w+", members["names"]) if members else []
        if found["kind"] in {"currentmodule", "automodule"}:
            module = name
            for each in names:
                yield from _described(f"{name}.{each}", _find(f"{name}.{each}"), bare=False)
            continue
        path = name if name.startswith("django_dyncron.") else f"{module}.{name}"
        value = _find(path)
        yield from _described(path, value, bare=bool(found["bare"]))
        if members and isinstance(value, type):
            yield from _members(path, value, names)


def _find(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def _described(path: str, value: Any, *, bare: bool) -> Iterator[str]:
    if not callable(value):
        yield f"{path} = {value!r}"
    elif not isinstance(value, type):
        yield f"{_async(value)}{path}{_signature(value)}"
    elif issubclass(value, Enum):
        yield from (f"{path}.{each.name} = {each.value!r}" for each in value)
    elif issubclass(value, BaseException):
        bases = ", ".join(base.__name__ for base in value.__bases__)
        yield f"{path}({bases})"
        if "__init__" in vars(value):
            yield f"{path}.__init__{_signature(value.__init__)}"
    elif is_dataclass(value):
        yield path
        for each in fields(value):
            if not each.name.startswith("_"):
                yield f"{path}.{each.name}: {each.type}{_default(each)}"
    else:
        yield path if bare else f"{path}{_signature(value)}"


def _default(field: Field[Any]) -> str:
    if field.default is not MISSING:
        return f" = {field.default!r}"
    made = field.default_factory
    return "" if made is MISSING else f" = {getattr(made, '__name__', made)}()"


def _members(path: str, value: type, names: list[str]) -> Iterator[str]:
    if issubclass(value, Enum):
        return
    inherited: dict[str, Any] = {}
    for base in reversed(value.__mro__):
        if base.__module__.startswith("django_dyncron"):
            inherited |= vars(base)
    required: frozenset[str] = getattr(value, "__abstractmethods__", frozenset())
    told = {each.name for each in fields(value)} if is_dataclass(value) else set()
    for name in names or [name for name in inherited if not name.startswith("_")]:
        member = inherited.get(name)
        function = getattr(member, "__func__", member)
        if inspect.isfunction(function):
            must = " (required)" if name in required else ""
            yield f"{_async(function)}{path}.{name}{_signature(function)}{must}"
        elif name not in told:
            yield f"{path}.{name}"


def _async(function: Any) -> str:
    is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(
        inspect.unwrap(function)
    )
    return "async " if is_async else ""


def _signature(value: Any) -> str:
    signature = inspect.signature(value)
    parameters = [
        each.replace(annotation=_plain(each.annotation)) for each in signature.parameters.values()
    ]
    returned = _plain(signature.return_annotation)
    return str(signature.replace(parameters=parameters, return_annotation=returned))


def _plain(annotation: Any) -> Any:
    return _Verbatim(annotation) if isinstance(annotation, str) else annotation


# --- the rest ---


def _settings() -> Iterator[str]:
    from django_dyncron.conf import DyncronSettings

    defaults = DyncronSettings()
    for each in fields(DyncronSettings):
        yield f"{each.name.upper()} = {getattr(defaults, each.name)!r}"


def _commands() -> Iterator[str]:
    from django.core.management import get_commands, load_command_class
    from django.core.management.base import BaseCommand

    djangos_own = {
        option
        for action in BaseCommand().create_parser("", "")._actions
        for option in action.option_strings
    }
    for name in sorted(name for name, app in get_commands().items() if app == "django_dyncron"):
        yield name
        for action in load_command_class("django_dyncron", name).create_parser("", name)._actions:
            if not set(action.option_strings) & djangos_own:
                spelt = ", ".join(action.option_strings) or action.dest
                takes = "" if action.nargs is None else f" nargs={action.nargs}"
                choices = "" if action.choices is None else f" of {', '.join(action.choices)}"
                yield f"{name} {spelt}{takes}{choices} = {action.default!r}"


def _tables() -> Iterator[str]:
    from django.apps import apps

    for model in sorted(
        apps.get_app_config("django_dyncron").get_models(), key=lambda each: each._meta.db_table
    ):
        table = model._meta.db_table
        for field in model._meta.concrete_fields:
            kind = getattr(field, "output_field", field).get_internal_type()
            length = f"({field.max_length})" if field.max_length else ""
            null = " or NULL" if field.null else ""
            yield f"{table}.{field.column}: {kind}{length}{null}"
        for each in (*model._meta.constraints, *model._meta.indexes):
            yield f"{table}: {type(each).__name__} {each.name}"


def _permissions() -> Iterator[str]:
    from django.apps import apps
    from django.contrib.auth import get_permission_codename

    for model in apps.get_app_config("django_dyncron").get_models():
        defaults = model._meta.default_permissions
        codes = [get_permission_codename(action, model._meta) for action in defaults]
        codes += [code for code, _ in model._meta.permissions]
        yield from sorted(f"django_dyncron.{code}" for code in codes)


def _checks() -> Iterator[str]:
    found = set()
    for path in (ROOT / "django_dyncron" / "checks").glob("*.py"):
        found |= set(re.findall(r"django_dyncron\.[A-Z]\d{3}", path.read_text(encoding="utf-8")))
    yield from sorted(found)


def _addresses() -> Iterator[str]:
    from django_dyncron import urls

    for pattern in urls.urlpatterns:
        yield f"{urls.app_name}:{pattern.name} {pattern.pattern}"


def _metrics() -> Iterator[str]:
    from prometheus_client import CollectorRegistry

    from django_dyncron.metrics import DyncronMetrics

    registry = CollectorRegistry()
    DyncronMetrics(registry)
    for metric in registry.collect():
        yield f"{metric.name}: {metric.type}"
    source = (ROOT / "django_dyncron" / "metrics" / "gauges.py").read_text(encoding="utf-8")
    yield from sorted(f"{name}: gauge" for name in set(re.findall(r'"(dyncron_\w+)"', source)))


def _extras() -> Iterator[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    yield from sorted(project["optional-dependencies"])


if __name__ == "__main__":
    import django

    django.setup()
    PINNED.write_text("\n".join([*lines(), ""]), encoding="utf-8")
