"""Compares a wheel and an sdist with the tree they were made from: ``contents.py DIST``.

Run outside pytest, by ``.ci/wheel``, since building needs a package index.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

METADATA = {"METADATA", "RECORD", "WHEEL", "licenses/LICENSE", "top_level.txt"}
"""What a wheel has beside the package, below its ``.dist-info``."""
MADE_BY_SETUPTOOLS = {"PKG-INFO", "setup.cfg"}
"""What an sdist has beside the files of the repository, and its ``.egg-info``."""
STAYS_HOME = (".editorconfig", ".github/", ".gitignore")
"""What only serves the repository; all else is released, so that an sdist can be tested."""


def tree() -> set[str]:
    """Return the files of the repository, those not yet committed too."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}


def in_wheel(path: Path) -> set[str]:
    """Return the files of a wheel; its metadata as ``METADATA``, without the version."""
    with zipfile.ZipFile(path) as wheel:
        return {
            name.partition(".dist-info/")[2] or name
            for name in wheel.namelist()
            if not name.endswith("/")
        }


def in_sdist(path: Path) -> set[str]:
    """Return the files of an sdist, without the folder they are all in."""
    with tarfile.open(path) as sdist:
        names = {each.name.partition("/")[2] for each in sdist.getmembers() if each.isfile()}
    return {name for name in names if not name.startswith("django_dyncron.egg-info/")}


def differences(dist: Path) -> list[str]:
    """Return a line for each file that is missing in, or too much in, what was built."""
    files = tree()
    package = {name for name in files if name.startswith("django_dyncron/")}
    released = {name for name in files if not name.startswith(STAYS_HOME)}
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    return [
        f"{archive.name}: {what} {name}"
        for archive, found, wanted in [
            (wheel, in_wheel(wheel), package | METADATA),
            (sdist, in_sdist(sdist), released | MADE_BY_SETUPTOOLS),
        ]
        for what, names in [("lacks", wanted - found), ("should not have", found - wanted)]
        for name in sorted(names)
    ]


if __name__ == "__main__":
    sys.exit("\n".join(differences(Path(sys.argv[1]))) or None)
