"""The deployment files, as the tests read them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
DOCKERFILE = DEPLOY / "docker" / "Dockerfile"
COMPOSE = DEPLOY / "docker" / "compose.yaml"
KUBERNETES = DEPLOY / "kubernetes"
MANIFESTS = sorted(set(KUBERNETES.glob("*.yaml")) - {KUBERNETES / "kustomization.yaml"})
UNIT = DEPLOY / "systemd" / "dyncron@.service"
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"

VARIABLES = {"SECRET_KEY": "only-for-this-test", "POSTGRES_PASSWORD": "0123456789abcdef"}
"""What is to be put into the ``.env`` of the compose file."""

GRACE_SECONDS = 25
"""The default of SHUTDOWN_GRACE_SECONDS, which the sample project does not change."""
TICK_SECONDS = 30
"""That of TICK_INTERVAL_SECONDS."""


def read_yaml(file: Path) -> list[Any]:
    """Return the documents of a YAML file."""
    return list(yaml.safe_load_all(file.read_text()))


def read_variables(file: Path) -> dict[str, str]:
    """Return the variables of a file with lines ``NAME=value`` and comments."""
    lines = file.read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def run_tool(name: str, *arguments: str | Path) -> None:
    """Run a program of the group ``deploy``; fail with its output if it complains."""
    program = Path(sys.executable).parent / name
    assert program.exists(), f"{name} is not installed; `make deploy-check` installs it"
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def interpolated(node: Any, variables: Mapping[str, str]) -> Any:
    """Fill in ``${NAME:?complaint}`` and ``${NAME:-default}`` as Compose does: in every value."""
    if isinstance(node, dict):
        return {key: interpolated(value, variables) for key, value in node.items()}
    if isinstance(node, list):
        return [interpolated(value, variables) for value in node]
    if not isinstance(node, str):
        return node

    def filled_in(match: re.Match[str]) -> str:
        name, operator, word = match.groups()
        if variables.get(name):
            return variables[name]
        assert operator == ":-", f"{name}: {word}"
        return str(word)

    return re.sub(r"\$\{(\w+)(:[?-])([^}]*)\}", filled_in, node)


def compose_services(variables: Mapping[str, str]) -> dict[str, Any]:
    """Return the services of the compose file with these variables filled in."""
    (project,) = read_yaml(COMPOSE)
    services: dict[str, Any] = interpolated(project["services"], variables)
    return services


def seconds(duration: str) -> int:
    """Read ``45s`` or ``45``."""
    return int(duration.removesuffix("s"))
