"""The texts of the package that are translated, and the catalogs of their translations.

``make messages`` brings every catalog up to date with the source and compiles it, and begins one
for each language that ``ARGS`` names. No GNU gettext is needed for it: the compiled catalogs are
kept beside their sources, so whoever installs the package needs none either.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from babel.messages import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

PACKAGE = Path(__file__).resolve().parent.parent / "django_dyncron"
LOCALE = PACKAGE / "locale"

_STRING = r"""u?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_CALL_IN_TEMPLATE = re.compile(rf"\b(_|n?p?gettext)\(({_STRING}(?:\s*,\s*{_STRING})*)")


class Text(NamedTuple):
    """A text to translate, where it is, and what sets it apart from the same words elsewhere."""

    file: str
    context: str | None
    singular: str
    plural: str | None


def texts() -> Iterator[Text]:
    """Yield every text of the package that is translated, file by file."""
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in {".py", ".html"}:
            source = path.read_text(encoding="utf-8")
            calls = _calls_in_python(source) if path.suffix == ".py" else _calls_in_template(source)
            file = path.relative_to(PACKAGE).as_posix()
            for function, strings in calls:
                yield _text(file, function, strings)


def template() -> Catalog:
    """Return a catalog of all texts, none of them translated."""
    catalog = Catalog()
    for text in texts():
        message = text.singular if text.plural is None else (text.singular, text.plural)
        catalog.add(message, locations=[(text.file, 0)], context=text.context)
    return catalog


def catalog_files() -> list[Path]:
    """Return the source of each catalog; its compiled form is beside it."""
    return sorted(LOCALE.glob("*/LC_MESSAGES/django.po"))


def read_catalog(path: Path) -> Catalog:
    """Read the source of a catalog."""
    with path.open("rb") as file:
        return read_po(file, locale=path.parts[-3])


def bring_up_to_date(path: Path) -> list[str]:
    """Write a catalog anew, in both forms; return the texts it does not translate."""
    if path.exists():
        catalog = read_catalog(path)
    else:
        catalog = Catalog(path.parts[-3], project="django-dyncron", version="0.1", fuzzy=False)
        catalog.msgid_bugs_address = catalog.last_translator = catalog.language_team = ""
        catalog.revision_date = catalog.creation_date
        path.parent.mkdir(parents=True, exist_ok=True)
    catalog.header_comment = "# This file is distributed under the license of django-dyncron."
    catalog.update(template(), no_fuzzy_matching=True, update_creation_date=False)
    with path.open("wb") as file:
        write_po(file, catalog, width=100, ignore_obsolete=True, include_lineno=False)
    with path.with_suffix(".mo").open("wb") as file:
        write_mo(file, catalog)
    return [str(message.id) for message in catalog if message.id and not _is_whole(message.string)]


def _is_whole(translation: object) -> bool:
    """Return whether there is a translation, and of each plural form."""
    forms = translation if isinstance(translation, tuple | list) else [translation]
    return bool(forms) and all(forms)


def _text(file: str, function: str, strings: list[str]) -> Text:
    context = strings.pop(0) if "pgettext" in function else None
    plural = strings[1] if "ngettext" in function or "npgettext" in function else None
    return Text(file, context, strings[0], plural)


def _calls_in_python(source: str) -> Iterator[tuple[str, list[str]]]:
    tree = ast.parse(source)
    # The core marks its texts by a function of its own, since it does without Django.
    names = {"gettext_noop": "gettext_noop"} | {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "django.utils.translation"
        for alias in node.names
        if "gettext" in alias.name
    }
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
        if isinstance(node.func, ast.Name) and node.func.id in names:
            strings = [
                each.value
                for each in node.args
                if isinstance(each, ast.Constant) and isinstance(each.value, str)
            ]
            # A text held by a name was marked where it is written.
            if strings:
                yield names[node.func.id], strings


def _calls_in_template(source: str) -> Iterator[tuple[str, list[str]]]:
    from django.utils.translation.template import templatize

    for function, arguments in _CALL_IN_TEMPLATE.findall(templatize(source)):
        yield function, list(ast.literal_eval(f"({arguments},)"))


def main(languages: list[str]) -> int:
    """Bring the catalogs up to date, begin those of ``languages``, and tell what is missing."""
    import django
    from django.conf import settings

    settings.configure()
    django.setup()
    begun = [LOCALE / language / "LC_MESSAGES" / "django.po" for language in languages]
    to_do = 0
    for path in sorted({*catalog_files(), *begun}):
        missing = bring_up_to_date(path)
        to_do += len(missing)
        told = [f"{path.parts[-3]}: {len(missing)} texts to translate", *missing]
        print(*told, sep="\n  ")  # noqa: T201
    return 1 if to_do else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
