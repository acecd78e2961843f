"""A terminal in which the commands of a page are typed one after the other."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

ANYTHING = "…"
"""On a line of its own any number of lines, within a line any text."""
INTERRUPT = "^C"
"""The last line of the output of a command that is ended by Ctrl-C once the rest was printed."""
CONTINUED = "> "
"""What a line begins with that goes on with the command above."""
_PATIENCE_SECONDS = 120

_SCRIPT = """
. "$STATE"
cd "$(cat "$STATE.cwd")"
(exit "$(cat "$STATE.status")")
{command}
status=$?
export -p >"$STATE"
pwd >"$STATE.cwd"
echo $status >"$STATE.status"
"""


@dataclass(frozen=True, slots=True)
class Command:
    """A command as it is printed after ``$``, and the output printed below it."""

    text: str
    output: str

    @property
    def is_interrupted(self) -> bool:
        return self.output.endswith(f"{INTERRUPT}\n")

    def pattern(self) -> re.Pattern[str]:
        """Return what the real output has to match from its beginning to its end."""
        lines = self.output.removesuffix(f"{INTERRUPT}\n").splitlines()
        return re.compile(
            "".join(
                r"(?:.*\n)*?" if line == ANYTHING else rf"{_within(line)}[ \t]*\n" for line in lines
            )
        )


def commands(text: str) -> Iterator[Command]:
    """Yield the commands of a ``console`` block."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        typed, *rest = part.splitlines()
        while rest and rest[0].startswith(CONTINUED):
            typed += "\n" + rest.pop(0).removeprefix(CONTINUED)
        output = "\n".join(rest).rstrip("\n")
        yield Command(typed, output and f"{output}\n")


class Terminal:
    """A shell in ``directory`` that keeps its variables, its directory and the last exit code."""

    def __init__(self, directory: Path, state: Path, environment: Mapping[str, str]) -> None:
        self.directory = directory
        self._environment = {**environment, "STATE": str(state)}
        self._status = Path(f"{state}.status")
        self._status.write_text("0")
        state.write_text("")
        Path(f"{state}.cwd").write_text(str(directory))

    @property
    def status(self) -> int:
        """The exit code of the last command."""
        return int(self._status.read_text())

    def type(self, command: Command) -> str:
        """Run a command to its end, or until Ctrl-C; return all it printed."""
        process = subprocess.Popen(
            ["bash", "-c", _SCRIPT.replace("{command}", command.text)],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        patience = Timer(_PATIENCE_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
        patience.start()
        try:
            printed = ""
            if command.is_interrupted:
                printed = _read_until(process, command.pattern())
                os.killpg(process.pid, signal.SIGINT)
            return printed + process.communicate()[0]
        finally:
            patience.cancel()


def _read_until(process: subprocess.Popen[str], pattern: re.Pattern[str]) -> str:
    """Read lines until they match; at the end of the output return what there was."""
    assert process.stdout is not None
    printed = ""
    while not pattern.fullmatch(printed):
        line = process.stdout.readline()
        if not line:
            break
        printed += line
    return printed


def _within(line: str) -> str:
    return ".*?".join(map(re.escape, line.split(ANYTHING)))
