"""What a terminal can show."""

from __future__ import annotations

from django.core.management.base import OutputWrapper


def writable(line: str, output: OutputWrapper) -> str:
    """Return ``line`` with escapes for the letters that the encoding of ``output`` lacks.

    For what is told of things done: to fail at a letter would look as if they were not.
    """
    encoding = getattr(output, "encoding", None) or "utf-8"
    return line.encode(encoding, "backslashreplace").decode(encoding)
