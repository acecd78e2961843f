"""Arguments written down as Python: literals alone, and nothing of it is ever run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ..entries import CannotImport


def positional_arguments(text: str | None) -> tuple[Any, ...]:
    """Read ``1, 'two'``. Raises :class:`CannotImport`."""
    if not text or not text.strip():
        return ()
    value = _literal(text, "args")
    return value if isinstance(value, tuple) else (value,)


def keyword_arguments(text: str | None) -> dict[str, Any]:
    """Read ``{'a': 1}`` or ``a=1, b='two'``. Raises :class:`CannotImport`."""
    if not text or not text.strip():
        return {}
    if text.strip().startswith("{"):
        value = _literal(text, "kwargs")
        if isinstance(value, dict) and all(isinstance(name, str) for name in value):
            return value
        raise CannotImport("Its kwargs are no dict of arguments by name.")
    return {name: _literal(value, "kwargs") for name, value in _keywords(text)}


def _keywords(text: str) -> Iterator[tuple[str, ast.expr]]:
    try:
        call = ast.parse(f"f({text})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CannotImport("Its kwargs cannot be read.") from error
    is_call = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args
    if not is_call or any(each.arg is None for each in call.keywords):  # type: ignore[attr-defined]
        raise CannotImport("Its kwargs are no arguments by name.")
    for each in call.keywords:  # type: ignore[attr-defined]
        yield each.arg, each.value


def _literal(source: str | ast.expr, column: str) -> Any:
    try:
        return ast.literal_eval(source.strip() if isinstance(source, str) else source)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise CannotImport(f"Its {column} are no plain values, and are not evaluated.") from error
