"""YAML of plain values, read more strictly than YAML itself is; needs PyYAML."""

from __future__ import annotations

from typing import Any

from yaml import AliasEvent, MappingNode, MarkedYAMLError, Node, SafeLoader, YAMLError, load
from yaml.scanner import ScannerError

__all__ = ["YAMLError", "load_yaml"]

_MOST_NODES = 1_000_000


def load_yaml(text: str) -> Any:
    """Read a document.

    A key that stands twice in one mapping is refused, which YAML forbids and PyYAML does not mind;
    and aliases that stand for more than a million values, or for what they are part of. Raises
    :class:`yaml.YAMLError`, which does not quote the document (jobs hold secrets),
    :class:`ValueError`, :class:`RecursionError`.
    """
    try:
        return load(text, _Loader)  # noqa: S506 - a safe loader
    except MarkedYAMLError as error:
        raise YAMLError(_told(error)) from error


def _told(error: MarkedYAMLError) -> str:
    told = f"{error.problem}"
    if mark := error.problem_mark:
        told += f", in line {mark.line + 1}, column {mark.column + 1}"
    if isinstance(error, ScannerError):
        told += ". An expression that begins with * or @ must be in quotes."
    return told


class _Loader(SafeLoader):
    """Counts what a document holds as if every alias were written out."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._count = 0
        self._sizes: dict[Node, int] = {}

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        is_alias, before = self.check_event(AliasEvent), self._count
        node = super().compose_node(parent, index)
        assert node is not None
        if is_alias:
            if node not in self._sizes:
                raise ValueError("an alias stands within what it stands for")
            self._count += self._sizes[node]
        else:
            self._count += 1
            self._sizes[node] = self._count - before
        if self._count > _MOST_NODES:
            raise ValueError(f"it holds more than {_MOST_NODES:,} values")
        return node

    def compose_mapping_node(self, anchor: Any) -> MappingNode:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _value in node.value:
            name = (key.tag, key.value) if isinstance(key.value, str) else key
            if name in seen:
                line = key.start_mark.line + 1
                raise ValueError(f"{key.value!r} stands twice in one mapping, in line {line}")
            seen.add(name)
        return node
