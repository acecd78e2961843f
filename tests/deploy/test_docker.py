"""The Dockerfile and the compose file: well-formed, consistent, and their commands at work."""

from __future__ import annotations

import os
import signal
import time
from pathlib import PurePosixPath
from urllib.parse import urlsplit
from urllib.request import urlopen

import psycopg
import pytest

from tests.deploy.containers import MakeContainer
from tests.deploy.files import (
    COMPOSE,
    DEPLOY,
    DOCKERFILE,
    GRACE_SECONDS,
    ROOT,
    VARIABLES,
    compose_services,
    read_variables,
    run_tool,
    seconds,
)
from tests.deploy.image import Image, instructions, is_ignored

pytestmark = pytest.mark.deploy

SERVICES = compose_services(VARIABLES)
OF_THE_IMAGE = ("migrate", "web", "scheduler", "sync")

# --- as they are written --------------------------------------------------------------------------


def test_the_dockerfile_is_well_made() -> None:
    run_tool("hadolint", DOCKERFILE)


@pytest.mark.parametrize("file", [COMPOSE, ROOT / "compose.yaml"])
def test_the_compose_files_fit_their_schema(file: object) -> None:
    run_tool("check-jsonschema", "--builtin-schema", "vendor.compose-spec", str(file))


@pytest.mark.parametrize(
    "file, is_left_out",
    [
        ("django_dyncron/templates/admin/x.html", False),
        ("django_dyncron/core/days.py", False),
        ("testproject/manage.py", False),
        ("pyproject.toml", False),
        ("django_dyncron/core/__pycache__/days.cpython-313.pyc", True),
        ("testproject/var/db.sqlite3", True),
        ("testproject/db.sqlite3", True),
        ("deploy/docker/.env", True),
        (".git/config", True),
        ("tests/settings.py", True),
    ],
)
def test_what_gets_into_the_build(file: str, is_left_out: bool) -> None:
    assert is_ignored(PurePosixPath(file)) is is_left_out


def test_sigterm_reaches_python() -> None:
    last = dict(instructions(DOCKERFILE.read_text()))
    assert last["CMD"].startswith('["python", ')
    for name in OF_THE_IMAGE:
        assert SERVICES[name]["init"] is True
        assert isinstance(SERVICES[name].get("command", []), list)


def test_compose_waits_longer_than_the_scheduler() -> None:
    assert seconds(SERVICES["scheduler"]["stop_grace_period"]) >= GRACE_SECONDS + 10


def test_the_image_keeps_no_secret() -> None:
    variables = [value for name, value in instructions(DOCKERFILE.read_text()) if name == "ENV"]
    assert not any("SECRET" in value or "PASSWORD" in value for value in variables)
    for name in ("SECRET_KEY", "POSTGRES_PASSWORD"):
        with pytest.raises(AssertionError, match=name):
            compose_services({**VARIABLES, name: ""})


def test_the_example_names_every_variable() -> None:
    given = read_variables(DEPLOY / "docker" / "env.example")
    assert given == {
        "SECRET_KEY": "",
        "POSTGRES_PASSWORD": "",
        "ALLOWED_HOSTS": "localhost",
        "CSRF_TRUSTED_ORIGINS": "",
        "TIME_ZONE": "UTC",
    }


def test_they_start_in_the_right_order() -> None:
    waits = {
        name: {other: how["condition"] for other, how in service.get("depends_on", {}).items()}
        for name, service in SERVICES.items()
    }
    assert waits == {
        "postgres": {},
        "valkey": {},
        "migrate": {"postgres": "service_healthy"},
        "web": {"migrate": "service_completed_successfully"},
        "scheduler": {
            "migrate": "service_completed_successfully",
            "valkey": "service_healthy",
        },
        "sync": {"scheduler": "service_healthy"},
    }
    assert SERVICES["scheduler"]["deploy"]["replicas"] == 2


# --- at work --------------------------------------------------------------------------------------


def test_the_image_is_as_compose_and_kubernetes_need_it(image: Image) -> None:
    assert image.user == "10001:10001"
    assert image.environment["DEBUG"] == "0"
    assert (image.root / "srv/static/django_dyncron").is_dir()
    assert not (image.root / "src").exists(), "the sources of the build are in the image"
    assert not list(image.root.glob("srv/shop/var"))
    # Four times as long as it takes until the file is touched, whatever the tick interval is.
    assert "age > 60" in image.health[-1]


def test_compose_up_serves_runs_and_ends(
    container: MakeContainer, migrated: None, image: Image, network: dict[str, str]
) -> None:
    began = time.time()
    web = container(SERVICES["web"]["environment"])
    web.start(SERVICES["web"]["command"])
    web.wait_until_well(SERVICES["web"]["healthcheck"]["test"][1:])
    with urlopen(f"http://{network['web:8000']}/static/admin/css/base.css", timeout=10) as answer:
        assert answer.status == 200

    schedulers = [container(SERVICES["scheduler"]["environment"]) for _ in range(2)]
    for scheduler in schedulers:
        # Often, so that the job below need not be waited for.
        scheduler.start([*image.command, "--tick-interval=1"])
    for scheduler in schedulers:
        scheduler.wait_until_well(image.health)
    sync = container(SERVICES["sync"]["environment"])
    assert sync.run(SERVICES["sync"]["command"]) == 0, sync.output
    due = "from samples.jobs import make_one_due; make_one_due()"
    assert sync.run(["python", "manage.py", "shell", "--command", due]) == 0, sync.output

    url = web.translated(SERVICES["web"]["environment"]["DATABASE_URL"])
    runs = _wait_for_runs(url, "report-runs", 30)
    assert runs == [("succeeded", 1)], "".join(each.output for each in schedulers)

    for each in (web, *schedulers):
        each.send(signal.SIGTERM)
    for each in (web, *schedulers):
        assert each.exit_code(GRACE_SECONDS) == 0, each.output
    assert _changed_since(began, image) == [], "the file system is read-only in a container"


def test_the_health_check_judges_the_age_of_the_heartbeat(
    container: MakeContainer, migrated: None, image: Image
) -> None:
    scheduler = container(SERVICES["scheduler"]["environment"])
    assert scheduler.run(image.health) == 1  # no heartbeat yet
    for age, verdict in ((0, 0), (50, 0), (70, 1)):
        scheduler.heartbeat.touch()
        os.utime(scheduler.heartbeat, (time.time() - age,) * 2)
        assert scheduler.run(image.health) == verdict, f"{age} s\n{scheduler.output}"


def _wait_for_runs(url: str, job_id: str, seconds: float) -> list[tuple[str, int]]:
    """Wait until the runs of a job have ended; return how many of them ended how."""
    statement = (
        "SELECT status, count(*) FROM django_dyncron_cronrun WHERE job_id = %s GROUP BY status"
    )
    assert urlsplit(url).username == "shop"
    deadline = time.monotonic() + seconds
    with psycopg.connect(url, autocommit=True) as connection:
        while True:
            found = [(str(row[0]), int(row[1])) for row in connection.execute(statement, [job_id])]
            has_ended = found and not {"claimed", "running"} & {status for status, _ in found}
            if has_ended or time.monotonic() > deadline:
                return found
            time.sleep(0.2)


def _changed_since(began: float, image: Image) -> list[str]:
    return [
        str(file.relative_to(image.root))
        for file in image.root.rglob("*")
        if file.is_file() and file.stat().st_mtime > began and "__pycache__" not in file.parts
    ]
