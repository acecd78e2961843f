"""The unit: verified by systemd itself, and started as systemd would start it."""

from __future__ import annotations

import shlex
import shutil
import signal
import socket
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.containers import MakeContainer
from tests.deploy.files import DEPLOY, GRACE_SECONDS, TICK_SECONDS, UNIT, read_variables

pytestmark = pytest.mark.deploy

INSTANCE = "dyncron@1.service"


def _directives() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for line in UNIT.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found[name].append(value)
    return found


DIRECTIVES = _directives()


def only(name: str) -> str:
    (value,) = DIRECTIVES[name]
    return value


# --- as it is written -----------------------------------------------------------------------------


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The root of a machine with systemd's own units, this one and the program it starts."""
    units = tmp_path / "etc/systemd/system"
    units.mkdir(parents=True)
    shutil.copy(UNIT, units)
    own = next(path for path in map(Path, _UNIT_PATHS) if path.is_dir())
    # Copied as the links they are: some lead nowhere on a machine that is booted otherwise.
    shutil.copytree(own, tmp_path / "usr/lib/systemd/system", symlinks=True)
    program = tmp_path / only("ExecStart").split()[0].lstrip("/")
    program.parent.mkdir(parents=True)
    program.touch(0o755)
    return tmp_path


_UNIT_PATHS = ("/usr/lib/systemd/system", "/lib/systemd/system")


def analyze(*arguments: str) -> str:
    program = shutil.which("systemd-analyze")
    assert program, "systemd-analyze is not installed: it is in the package systemd"
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


def test_systemd_has_nothing_to_complain_of(machine: Path) -> None:
    analyze("verify", f"--root={machine}", "--man=no", "--recursive-errors=no", INSTANCE)


def test_its_exposure_is_low(machine: Path) -> None:
    """On systemd's own scale from 0 to 10, here times ten; a service with no limits has 96."""
    analyze("security", "--offline=yes", "--threshold=20", f"--root={machine}", INSTANCE)


def test_it_is_not_killed_within_the_grace_nor_between_ticks() -> None:
    assert int(only("TimeoutStopSec")) >= GRACE_SECONDS + 10
    assert int(only("TimeoutStartSec")) > int(only("WatchdogSec")) > TICK_SECONDS
    assert only("KillMode") == "mixed"
    assert only("Restart") == "always"


# --- at work --------------------------------------------------------------------------------------


class Manager:
    """Listens where systemd would, and remembers when it was told what."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.heard: list[tuple[float, str]] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))

    def wait_for(self, line: str, patience: float) -> float:
        """Return when ``line`` came, heard from now on; fail if it does not."""
        deadline = time.monotonic() + patience
        while (left := deadline - time.monotonic()) > 0:
            self._socket.settimeout(left)
            try:
                lines = self._socket.recv(4096).decode().splitlines()
            except TimeoutError:
                break
            now = time.monotonic()
            self.heard += [(now, each) for each in lines]
            if line in lines:
                return now
        raise AssertionError(f"{line} never came; heard {self.heard}")

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def manager(place: Path) -> Iterator[Manager]:
    made = Manager(place / "notify")
    yield made
    made.close()
    made.path.unlink()


def _settings(writable: Path) -> dict[str, str]:
    given = read_variables(DEPLOY / "systemd" / "environment.example")
    state = f"/var/lib/{only('StateDirectory')}"
    assert given["VAR_DIR"] == state
    return {**given, "SECRET_KEY": "only-for-this-test", "VAR_DIR": str(writable)}


def test_it_starts_tells_that_it_lives_and_stops(
    container: MakeContainer, migrated: None, manager: Manager, tmp_path: Path
) -> None:
    program, *arguments = shlex.split(only("ExecStart").replace("%H", "host").replace("%i", "1"))
    assert program == f"{only('WorkingDirectory')}/.venv/bin/python"
    scheduler = container(_settings(tmp_path), **{program: "/opt/venv/bin/python"})
    # Impatient, so that signs of life need not be waited for.
    told = {"NOTIFY_SOCKET": str(manager.path), "WATCHDOG_USEC": "4000000"}
    scheduler.start([program, *arguments], **told)
    try:
        last = manager.wait_for("READY=1", 20)
        for _ in range(3):
            sign = manager.wait_for("WATCHDOG=1", 4)
            assert sign - last < 4
            last = sign
        scheduler.send(signal.SIGTERM)
        manager.wait_for("STOPPING=1", 10)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{scheduler.output}") from None
    assert scheduler.exit_code(GRACE_SECONDS) == 0, scheduler.output
    assert "scheduler host-1 started" in scheduler.output
