"""Wheels of what is installed here, so that ``pip`` can install it elsewhere without a network."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

from tests.docs.blocks import ROOT

_THIS = "django-dyncron"
_LEFT_OUT = {"INSTALLER", "RECORD", "REQUESTED", "direct_url.json"}
"""What an installer writes into the metadata of what it has installed."""


def pack(project: str, directory: Path) -> None:
    """Write into ``directory`` a wheel of ``project`` and of all that it requires.

    Of this project the files of the checkout are taken, whatever way it is installed.
    """
    packed: set[str] = set()
    to_pack = [project]
    while to_pack:
        name = to_pack.pop()
        if name not in packed:
            packed.add(name)
            distribution = _installed(name)
            _write(distribution, directory)
            to_pack += _required(distribution)


def _installed(project: str) -> importlib.metadata.Distribution:
    """Return the installed distribution; one that was built in the checkout is not one."""
    found = importlib.metadata.distributions(name=project)
    return next(each for each in found if each.read_text("WHEEL"))


def _required(distribution: importlib.metadata.Distribution) -> Iterator[str]:
    """Yield the projects that are required here: those of extras and other systems are not."""
    for requirement in distribution.requires or ():
        if ";" not in requirement:
            yield _normal(re.split(r"[^\w.-]", requirement, maxsplit=1)[0])


def _write(distribution: importlib.metadata.Distribution, directory: Path) -> None:
    name = _normal(distribution.name).replace("-", "_")
    files = dict(_files(distribution))
    metadata = f"{name}-{distribution.version}.dist-info"
    tags = re.findall(r"^Tag: (.+)$", files[f"{metadata}/WHEEL"].decode(), re.MULTILINE)
    with ZipFile(directory / f"{name}-{distribution.version}-{tags[-1]}.whl", "w") as wheel:
        for path, content in files.items():
            wheel.writestr(path, content)
        wheel.writestr(f"{metadata}/RECORD", "".join(f"{path},,\n" for path in files))


def _files(distribution: importlib.metadata.Distribution) -> Iterator[tuple[str, bytes]]:
    is_this = _normal(distribution.name) == _THIS
    for path in distribution.files or ():
        in_metadata = path.parts[0].endswith(".dist-info")
        # Scripts, which are outside, are made anew by the installer.
        if path.parts[0] == ".." or path.suffix == ".pyc" or path.name in _LEFT_OUT:
            continue
        if in_metadata or not is_this:
            yield _in_wheel(path.as_posix(), distribution), path.read_binary()
    if is_this:
        for file in sorted((ROOT / "django_dyncron").rglob("*")):
            if file.is_file() and file.suffix != ".pyc":
                yield file.relative_to(ROOT).as_posix(), file.read_bytes()


def _in_wheel(path: str, distribution: importlib.metadata.Distribution) -> str:
    """Return a path with the directory of the metadata spelt as the wheel's name is."""
    directory, slash, rest = path.partition("/")
    if not directory.endswith(".dist-info"):
        return path
    name = _normal(distribution.name).replace("-", "_")
    return f"{name}-{distribution.version}.dist-info{slash}{rest}"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
