"""What the Dockerfile makes, made by its own commands without Docker.

Each stage is a directory in the place of the file system's root, and absolute paths lead into it.
The interpreter is that of the tests, whatever ``FROM`` says. All stages are made at the same path,
since virtual environments cannot be moved; a finished stage steps aside.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tests.deploy.files import DOCKERFILE, ROOT

_ABSOLUTE = re.compile(r"(?<![\w.:/-])/(?=(?:opt|srv|src|tmp)\b)|(?<=:)/(?=(?:opt|srv|src|tmp)\b)")
_OF_PIP = ("PIP_", "SSL_", "REQUESTS_", "HTTP", "http", "NO_PROXY", "no_proxy")


@dataclass
class Image:
    """The last stage: its files below ``root``, and what a container of it would be told."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    directory: str = "/"
    user: str = "root"
    command: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)
    health_options: dict[str, str] = field(default_factory=dict)

    def inside(self, text: str) -> str:
        """Let the absolute paths in ``text`` lead into this image."""
        return _ABSOLUTE.sub(f"{self.root}/", text)

    @property
    def tmp(self) -> Path:
        return self.root / "tmp"

    def path(self, name: str) -> Path:
        return self.root / str(PurePosixPath(self.directory, name)).lstrip("/")


class Builder:
    """Follows a Dockerfile. It knows the instructions that ours has, and no others."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._stages: dict[str, Path] = {}
        self._name = ""
        self.image = Image(place / "root")
        host = place / "host"
        host.mkdir()
        interpreter = Path(sys.base_prefix, "bin", "python{}.{}".format(*sys.version_info))
        (host / "python").symlink_to(interpreter)
        self._path = f"{host}:{os.defpath}"

    def build(self) -> Image:
        for instruction, value in instructions(DOCKERFILE.read_text()):
            getattr(self, f"_{instruction.lower()}")(value)
        return self.image

    def _from(self, value: str) -> None:
        root = self.image.root
        if root.exists():
            aside = self._place / f"stage-{self._name}"
            root.rename(aside)
            self._stages[self._name] = aside
        self._name = value.partition(" AS ")[2]
        self.image = Image(root, {"PATH": self._path})
        self.image.tmp.mkdir(parents=True)

    def _run(self, value: str) -> None:
        of_pip = {key: text for key, text in os.environ.items() if key.startswith(_OF_PIP)}
        done = subprocess.run(
            ["/bin/sh", "-c", self.image.inside(value)],
            cwd=self.image.path("."),
            env=of_pip | {"HOME": str(self.image.tmp)} | self.image.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"RUN {value}\n{done.stdout}{done.stderr}"

    def _env(self, value: str) -> None:
        for name, _, text in (pair.partition("=") for pair in shlex.split(value)):
            known = self.image.inside(text).replace("$PATH", self.image.environment["PATH"])
            self.image.environment[name] = known

    def _workdir(self, value: str) -> None:
        self.image.directory = value
        self.image.path(".").mkdir(parents=True, exist_ok=True)

    def _copy(self, value: str) -> None:
        *sources, target = shlex.split(value)
        stage = None
        if sources[0].startswith("--from="):
            stage = self._stages[sources.pop(0).removeprefix("--from=")]
        for source in sources:
            if stage is not None:
                shutil.copytree(stage / source.lstrip("/"), self.image.path(target), symlinks=True)
            else:
                self._copy_from_context(source, target)

    def _copy_from_context(self, source: str, target: str) -> None:
        """Copy a file into a folder, or the files of a folder that are not ignored."""
        if (ROOT / source).is_file():
            files, base = [PurePosixPath(source)], PurePosixPath(source).parent
        else:
            files, base = list(_files_below(source)), PurePosixPath(source)
        wanted = [file for file in files if not is_ignored(file)]
        assert wanted, f"COPY {source}: all of it is ignored"
        for file in wanted:
            copy = self.image.path(target) / file.relative_to(base)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, copy)

    def _user(self, value: str) -> None:
        self.image.user = value

    def _healthcheck(self, value: str) -> None:
        options, _, command = value.partition("CMD ")
        self.image.health = json.loads(command)
        self.image.health_options = dict(
            option.removeprefix("--").split("=") for option in options.split()
        )

    def _cmd(self, value: str) -> None:
        self.image.command = json.loads(value)


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Read a Dockerfile: comments left out, continued lines joined."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        if line.strip():
            instruction, _, value = line.partition(" ")
            yield instruction, value.strip()


def is_ignored(file: PurePosixPath) -> bool:
    """Tell whether the ignore file keeps ``file`` out: the last line that fits decides."""
    ignored = False
    for line in _ignore_lines():
        pattern = _as_expression(line.removeprefix("!"))
        if any(pattern.fullmatch(str(part)) for part in (file, *file.parents)):
            ignored = not line.startswith("!")
    return ignored


def _ignore_lines() -> Iterable[str]:
    lines = DOCKERFILE.with_name("Dockerfile.dockerignore").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _as_expression(pattern: str) -> re.Pattern[str]:
    expression = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
    return re.compile(expression.replace(r"\[", "[").replace(r"\]", "]"))


def _files_below(folder: str) -> Iterator[PurePosixPath]:
    for file in sorted((ROOT / folder).rglob("*")):
        if file.is_file():
            yield PurePosixPath(file.relative_to(ROOT).as_posix())
