"""Processes that are started as containers of the image would be."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from tests.deploy.image import Image


class Container:
    """A process with the image's environment and nothing else, and a ``/tmp`` of its own.

    ``network`` says where the addresses that the files speak of are in this test.
    """

    def __init__(
        self,
        image: Image,
        place: Path,
        environment: Mapping[str, str],
        network: Mapping[str, str],
    ) -> None:
        self._image = image
        self._tmp = place
        self._tmp.mkdir()
        self._network = network
        own = {name: self.translated(value) for name, value in environment.items()}
        self._environment = {
            name: value.replace(str(image.tmp), str(place))
            for name, value in image.environment.items()
        } | own
        self._process: subprocess.Popen[bytes] | None = None

    def translated(self, text: str) -> str:
        """Let paths and addresses lead to where they are in this test."""
        for there, here in self._network.items():
            text = text.replace(there, here)
        return self._image.inside(text).replace(str(self._image.tmp), str(self._tmp))

    def run(self, command: Sequence[str], seconds: float = 60) -> int:
        """Run a command to its end, as a probe or ``docker exec`` would; return its exit code."""
        with (self._tmp / "run.log").open("wb") as log:
            return subprocess.run(
                [self.translated(word) for word in command],
                cwd=self._image.path("."),
                env=self._environment,
                stdout=log,
                stderr=log,
                timeout=seconds,
                check=False,
            ).returncode

    def start(self, command: Sequence[str], **environment: str) -> None:
        with (self._tmp / "main.log").open("wb") as log:
            self._process = subprocess.Popen(
                [self.translated(word) for word in command],
                cwd=self._image.path("."),
                env=self._environment | environment,
                stdout=log,
                stderr=log,
                process_group=0,
            )

    @property
    def output(self) -> str:
        logs = sorted(self._tmp.glob("*.log"))
        return "\n".join(f"--- {log.name}\n{log.read_text()}" for log in logs)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def heartbeat(self) -> Path:
        return self._tmp / "heartbeat"

    def send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def exit_code(self, seconds: float) -> int:
        assert self._process is not None
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it did not end\n{self.output}") from None

    def wait_until_well(self, probe: Sequence[str], seconds: float = 40) -> None:
        """Wait until the command ``probe`` exits with 0; fail if it never does."""
        assert self._process is not None
        deadline = time.monotonic() + seconds
        while self.run(probe) != 0:
            assert self._process.poll() is None, self.output
            assert time.monotonic() < deadline, self.output
            time.sleep(0.2)

    def close(self) -> None:
        """Kill what is left of it."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


MakeContainer: TypeAlias = Callable[..., Container]
"""Takes the variables of a container and, as keywords, what its network is to replace further."""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
