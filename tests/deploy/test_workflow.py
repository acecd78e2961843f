"""The workflow: valid, as narrow as can be, and in step with ``.ci/run`` and ``pyproject.toml``."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

from tests.deploy.files import ROOT, WORKFLOW, read_yaml, run_tool

pytestmark = pytest.mark.deploy

(_WORKFLOW,) = read_yaml(WORKFLOW)
JOBS: dict[str, Any] = _WORKFLOW["jobs"]
CLASSIFIERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]


@pytest.mark.parametrize(
    "schema", ["vendor.github-workflows", "custom.github-workflows-require-timeout"]
)
def test_it_fits_the_schema(schema: str) -> None:
    run_tool("check-jsonschema", "--builtin-schema", schema, WORKFLOW)


def test_it_covers_every_version_we_claim() -> None:
    matrix = JOBS["tests"]["strategy"]["matrix"]
    pythons = re.findall(r"Python :: (3\.\d+)", "\n".join(CLASSIFIERS))
    djangos = re.findall(r"Django :: (\d\.\d)", "\n".join(CLASSIFIERS))
    assert matrix["python"] == pythons == ["3.11", "3.12", "3.13", "3.14"]
    assert matrix["django"] == [f"Django~={version}.0" for version in djangos]


def test_it_covers_every_step_of_the_house() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    steps = set(re.findall(r"^step (.+)$", script, re.MULTILINE))
    commands = {step.get("run", "") for job in JOBS.values() for step in job["steps"]}
    # The job "tests" has its own options, and is the matrix of interpreters.
    done = {*JOBS["house"]["strategy"]["matrix"]["step"], *commands, "make test"}
    assert {step for step in steps - done if not step.startswith(".ci/matrix")} == set()


def test_every_job_has_only_the_rights_it_needs() -> None:
    assert _WORKFLOW["permissions"] == {}
    rights = {name: job["permissions"] for name, job in JOBS.items()}
    assert rights.pop("release") == {"id-token": "write"}
    assert all(right == {"contents": "read"} for right in rights.values())


def test_every_action_is_pinned_to_a_major_version() -> None:
    used = re.findall(r"uses: (\S+)", WORKFLOW.read_text())
    assert [one for one in used if not re.search(r"@(release/)?v\d+$", one)] == []


def test_a_release_needs_all_that_went_before() -> None:
    assert set(JOBS["release"]["needs"]) == set(JOBS) - {"release", "long"}


def test_what_is_released_is_what_was_looked_into() -> None:
    """A second build would be another wheel than the one that was tried."""
    *_, build, upload = JOBS["wheel"]["steps"]
    assert (build["run"], build["env"]) == (".ci/wheel", {"DIST": "dist"})
    download = JOBS["release"]["steps"][0]
    assert upload["with"]["name"] == download["with"]["name"] == "dist"
    assert upload["with"]["path"] == download["with"]["path"] == "dist/"


def test_nothing_from_outside_gets_into_a_shell() -> None:
    """A title or a branch may be called ``$(…)``; the environment carries it safely."""
    scripts = [step.get("run", "") for job in JOBS.values() for step in job["steps"]]
    assert [script for script in scripts if "${{" in script] == []
