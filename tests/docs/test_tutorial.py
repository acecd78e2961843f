"""The tutorial, typed from an empty directory exactly as it is printed, and what it then prints.

- A block of ``console`` is typed line by line; what is printed below a command is what it has to
  print: ``…`` stands for any text, and for any number of lines on a line of its own.
- A block with a caption is the file of that name; with "at the end" it is added to it.
- A command fails the test by its exit code, unless the next one asks for that.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, Block, blocks
from tests.docs.terminal import Command, Terminal, commands
from tests.docs.wheels import pack

TUTORIAL = ROOT / "docs" / "tutorial" / "index.rst"
AT_THE_END = ", at the end"
PORT = 8765
EXIT_CODE = "echo $?"


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    """A terminal in an empty directory, of somebody who has Python and nothing else."""
    project, home, wheels, programs = (
        tmp_path / name for name in ("project", "home", "wheels", "bin")
    )
    for directory in (project, home, wheels, programs):
        directory.mkdir()
    pack("django-dyncron", wheels)
    (programs / "python3").symlink_to(getattr(sys, "_base_executable", sys.executable))
    environment = {
        "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "NO_COLOR": "1",
        "PYTHONUNBUFFERED": "1",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_NO_INDEX": "1",
    }
    return Terminal(project, tmp_path / "state", environment)


@pytest.fixture
def _free_port() -> None:
    """The port on which the tutorial starts a server: a test cannot choose another."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", PORT))
        except OSError:
            pytest.fail(f"Something else listens on port {PORT}: end it and try again.")


@pytest.mark.slow
@pytest.mark.usefixtures("_free_port")
def test_the_tutorial_does_what_it_says(terminal: Terminal) -> None:
    for block in blocks(TUTORIAL):
        if block.language == "console":
            _type(block, terminal)
        elif block.caption:
            _write(block, terminal.directory)


def test_nothing_of_the_tutorial_is_left_out() -> None:
    left_out = [
        str(block)
        for block in blocks(TUTORIAL)
        if block.language != "console" and not block.caption
    ]
    assert left_out == []


@pytest.mark.parametrize(
    "printed,real,is_same",
    [
        ("", "", True),
        ("", "something\n", False),
        ("a\n", "a\n", True),
        ("a\n", "a\nb\n", False),
        ("a\n…\n", "a\nb\nc\n", True),
        ("a\n…\nd\n", "a\nd\n", True),
        ("a\n…\nd\n", "a\nb\n", False),
        ("took … s\n", "took 1.5 s\n", True),
        ("took … s\n", "took 1.5 min\n", False),
        ("what (is)?\n", "what (is)?\n", True),
    ],
)
def test_what_is_printed_is_compared(printed: str, real: str, is_same: bool) -> None:
    assert bool(Command("true", printed).pattern().fullmatch(real)) is is_same


def test_a_command_that_prints_something_else_is_noticed(terminal: Terminal) -> None:
    block = Block(TUTORIAL, 1, "console", "", "$ echo this\nthat\n")
    with pytest.raises(AssertionError, match="printed this"):
        _type(block, terminal)


def test_a_command_that_fails_is_noticed(terminal: Terminal) -> None:
    block = Block(TUTORIAL, 1, "console", "", "$ false\n$ true\n")
    with pytest.raises(AssertionError, match="exit code 1"):
        _type(block, terminal)


def test_variables_directories_and_exit_codes_last(terminal: Terminal) -> None:
    text = (
        "$ export A=1\n$ mkdir x && cd x\n$ echo $A $(basename $PWD)\n1 x\n$ false\n$ echo $?\n1\n"
    )
    _type(Block(TUTORIAL, 1, "console", "", text), terminal)


def test_a_command_that_goes_on_is_interrupted(terminal: Terminal) -> None:
    text = "$ python3 -c 'import time; print(1); time.sleep(99)' || echo stopped\n1\n^C\n"
    (command,) = commands(text)
    assert terminal.type(command).splitlines()[0] == "1"


def _type(block: Block, terminal: Terminal) -> None:
    to_type = list(commands(block.text))
    for command, following in zip(to_type, [*to_type[1:], None], strict=True):
        printed = terminal.type(command)
        place = f"{block}: $ {command.text}\nprinted {printed}"
        if command.is_interrupted:
            assert command.pattern().match(printed), place
        else:
            assert command.pattern().fullmatch(printed), place
        is_asked_for = following is not None and following.text == EXIT_CODE
        assert is_asked_for or terminal.status == 0, f"{place}exit code {terminal.status}"


def _write(block: Block, directory: Path) -> None:
    file = directory / block.caption.removesuffix(AT_THE_END)
    if block.caption.endswith(AT_THE_END):
        file.write_text(file.read_text() + "\n" + block.text)
    else:
        file.write_text(block.text)
