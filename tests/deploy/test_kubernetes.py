"""The manifests: valid for two versions of Kubernetes, consistent, and their commands at work."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from typing import Any
from urllib.request import urlopen

import pytest

from tests.deploy.containers import Container, MakeContainer, free_port
from tests.deploy.files import (
    GRACE_SECONDS,
    KUBERNETES,
    MANIFESTS,
    TICK_SECONDS,
    read_variables,
    read_yaml,
    run_tool,
)
from tests.deploy.image import Image

pytestmark = pytest.mark.deploy

OBJECTS = {
    (each["kind"], each["metadata"]["name"]): each for file in MANIFESTS for each in read_yaml(file)
}
SCHEDULER = OBJECTS["Deployment", "shop-scheduler"]
POD = SCHEDULER["spec"]["template"]["spec"]
(CONTAINER,) = POD["containers"]
TEMPLATES = {
    name: each["spec"]["template"]
    for name, each in OBJECTS.items()
    if "template" in each.get("spec", {})
}

# --- as they are written --------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["1.30", "1.37"])
def test_they_fit_the_schemas(version: str) -> None:
    options = ["--strict", "--no-warn", "--kubernetes-version", version]
    run_tool("kubernetes-validate", *options, *MANIFESTS)


def test_the_kustomization_has_all_of_them_and_the_image() -> None:
    (kustomization,) = read_yaml(KUBERNETES / "kustomization.yaml")
    assert sorted(kustomization["resources"]) == [file.name for file in MANIFESTS]
    images = {one["image"] for pod in TEMPLATES.values() for one in pod["spec"]["containers"]}
    assert images == {kustomization["images"][0]["name"]}
    assert len(TEMPLATES) == 3


def test_no_manifest_overwrites_the_secret() -> None:
    assert "Secret" not in {kind for kind, _ in OBJECTS}
    for pod in TEMPLATES.values():
        (one,) = pod["spec"]["containers"]
        assert one["envFrom"] == [
            {"configMapRef": {"name": OBJECTS["ConfigMap", "shop"]["metadata"]["name"]}},
            {"secretRef": {"name": "shop"}},
        ]


def test_selectors_find_the_pods_and_only_them() -> None:
    labels = SCHEDULER["spec"]["template"]["metadata"]["labels"]
    budget = OBJECTS["PodDisruptionBudget", "shop-scheduler"]
    (spread,) = POD["topologySpreadConstraints"]
    assert SCHEDULER["spec"]["selector"]["matchLabels"] == labels
    assert budget["spec"]["selector"]["matchLabels"] == labels
    assert spread["labelSelector"]["matchLabels"] == labels
    others = [
        pod["metadata"]["labels"] for (kind, _), pod in TEMPLATES.items() if kind != "Deployment"
    ]
    assert all(labels != other for other in others)


def test_a_drain_and_a_rollout_leave_one_running() -> None:
    assert SCHEDULER["spec"]["replicas"] == 2
    assert SCHEDULER["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert OBJECTS["PodDisruptionBudget", "shop-scheduler"]["spec"]["maxUnavailable"] == 1


def test_it_is_not_killed_within_the_grace() -> None:
    assert POD["terminationGracePeriodSeconds"] >= GRACE_SECONDS + 10


def test_the_probes_are_more_patient_than_a_tick(image: Image) -> None:
    startup, liveness = CONTAINER["startupProbe"], CONTAINER["livenessProbe"]
    assert startup["exec"]["command"] == liveness["exec"]["command"] == image.health
    # What Kubernetes allows a rollout by default.
    assert startup["periodSeconds"] * startup["failureThreshold"] == 600
    assert liveness["periodSeconds"] * liveness["failureThreshold"] >= TICK_SECONDS
    assert "readinessProbe" not in CONTAINER
    assert image.health_options == {
        "interval": f"{liveness['periodSeconds']}s",
        "timeout": f"{liveness['timeoutSeconds']}s",
        "retries": str(liveness["failureThreshold"]),
        "start-period": "60s",
    }


@pytest.mark.parametrize("name", TEMPLATES, ids=lambda name: name[1])
def test_pods_are_admitted_where_restricted_is_enforced(name: tuple[str, str]) -> None:
    """What the Pod Security Standard "restricted" asks for, and a root that is read-only."""
    pod = TEMPLATES[name]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == 10001
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert [volume["name"] for volume in pod["volumes"] if "emptyDir" not in volume] == []
    for each in pod["containers"]:
        assert each["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "memory" in each["resources"]["limits"]


def test_the_metrics_are_where_the_annotations_say() -> None:
    annotations = SCHEDULER["spec"]["template"]["metadata"]["annotations"]
    (port,) = CONTAINER["ports"]
    assert f"--metrics-port={port['containerPort']}" in CONTAINER["args"]
    assert annotations["prometheus.io/port"] == str(port["containerPort"])


# --- at work --------------------------------------------------------------------------------------


def _variables() -> dict[str, str]:
    config = OBJECTS["ConfigMap", "shop"]["data"]
    secret = read_variables(KUBERNETES / "secret.env.example")
    assert secret["SECRET_KEY"] == ""
    return {**config, **secret, "SECRET_KEY": "only-for-this-test"}


@pytest.mark.parametrize("name", ["migrate", "sync"])
def test_the_jobs_do_their_work_and_may_do_it_again(container: MakeContainer, name: str) -> None:
    for each in ("migrate", name, name):
        (job,) = OBJECTS["Job", f"shop-{each}"]["spec"]["template"]["spec"]["containers"]
        made = container(_variables())
        assert made.run(job["command"]) == 0, made.output


@pytest.fixture
def pod(container: MakeContainer, migrated: None) -> Iterator[tuple[Container, int]]:
    """The pod of the deployment, ticking often, and the port of its metrics."""
    port = free_port()
    addresses = {"--metrics-port=9090": f"--metrics-port={port}", "=0.0.0.0": "=127.0.0.1"}
    pod = container(_variables(), **addresses)
    pod.start([*CONTAINER["command"], *CONTAINER["args"], "--tick-interval=0.2"])
    yield pod, port
    pod.close()


def test_the_probes_tell_a_stopped_process_from_a_living_one(pod: tuple[Container, int]) -> None:
    scheduler, _ = pod
    scheduler.wait_until_well(CONTAINER["startupProbe"]["exec"]["command"])
    probe = _within_seconds(2)
    assert scheduler.run(probe) == 0
    scheduler.send(signal.SIGSTOP)
    time.sleep(3)
    assert scheduler.run(probe) == 1
    scheduler.send(signal.SIGCONT)
    scheduler.wait_until_well(probe, 10)
    scheduler.send(signal.SIGTERM)
    assert scheduler.exit_code(GRACE_SECONDS) == 0, scheduler.output


def test_the_metrics_are_served(pod: tuple[Container, int]) -> None:
    scheduler, port = pod
    path = SCHEDULER["spec"]["template"]["metadata"]["annotations"]["prometheus.io/path"]
    scheduler.wait_until_well(CONTAINER["startupProbe"]["exec"]["command"])
    with urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        assert "dyncron_" in answer.read().decode()


def _within_seconds(age: int) -> list[Any]:
    """The command of the liveness probe, with less patience."""
    *words, script = CONTAINER["livenessProbe"]["exec"]["command"]
    assert "age > 60" in script
    return [*words, script.replace("age > 60", f"age > {age}")]
