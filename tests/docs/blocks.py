"""The code blocks of the documentation, read without building it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.rst")) + sorted(ROOT.glob("*.rst"))

_DIRECTIVE = re.compile(r"^(?P<indent>\s*)\.\. code-block:: (?P<language>\S+)$")
_OPTION = re.compile(r"^\s+:(?P<name>[a-z-]+): (?P<value>.+)$")


@dataclass(frozen=True, slots=True)
class Block:
    """A ``code-block``: its language, its caption and its text; ``line`` is where it begins."""

    page: Path
    line: int
    language: str
    caption: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """Yield the code blocks of a page in their order."""
    lines = page.read_text().splitlines()
    for number, line in enumerate(lines):
        if directive := _DIRECTIVE.match(line):
            body = _indented(lines[number + 1 :], len(directive["indent"]))
            options = {}
            while body and (option := _OPTION.match(body[0])):
                options[option["name"]] = option["value"]
                body = body[1:]
            text = dedent("\n".join(body)).strip("\n") + "\n"
            language = directive["language"]
            yield Block(page, number + 1, language, options.get("caption", ""), text)


def _indented(lines: list[str], indent: int) -> list[str]:
    """Return the leading lines that are blank or further in than ``indent``."""
    for number, line in enumerate(lines):
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            return lines[:number]
    return lines
