"""What is wrong with one job stays with that job: the others run on time and the process lives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integration.cluster import FILE_ENQUEUER, Cluster, wait_until

FAST = ("--tick-interval", "0.2")

BROKEN_BY_SQL = """
INSERT INTO django_dyncron_cronjob
    (job_id, task_name, cron_expression, payload, queue, is_active)
VALUES ('broken', 'anything', '61 * * * *', '{}', 'default', true),
       ('nonsense', 'anything', 'whenever', '[]', 'default', true)
"""


def _enqueuers(cluster: Cluster, **more: Any) -> dict[str, Any]:
    """Return settings with tasks run in the process by default, and queues to choose from."""
    return {
        "ENQUEUER": "local",
        "ENQUEUERS": {
            "file": {"BACKEND": FILE_ENQUEUER, "OPTIONS": {"path": str(cluster.file)}},
            "raising": "tests.integration.enqueuers.RaisingEnqueuer",
            "flaky": {
                "BACKEND": "tests.integration.enqueuers.FlakyEnqueuer",
                "OPTIONS": {"path": str(cluster.directory / "flaky"), "failures": 1},
            },
            **more,
        },
        "ALLOWED_TASKS": ["nowhere.at_all", "tests.integration.tasks.*"],
    }


def _errors(cluster: Cluster) -> dict[str, str]:
    return dict(cluster.jobs.values_list("job_id", "last_error"))


def _statuses(cluster: Cluster) -> dict[str, str]:
    return dict(cluster.runs.values_list("job_id", "status"))


def test_each_failure_marks_its_own_job(postgres_cluster: Cluster) -> None:
    cluster = postgres_cluster
    replica = cluster.start_one(*FAST, **_enqueuers(cluster))
    cluster.sql(BROKEN_BY_SQL)
    cluster.add_missed(["unimportable"], 1, task_name="nowhere.at_all")
    cluster.add_missed(["task_raises"], 1, task_name="tests.integration.tasks.fail")
    cluster.add_missed(["wrong_payload"], 1, task_name="tests.integration.tasks.fail", payload=[7])
    cluster.add_missed(["queue_raises"], 1, enqueuer="raising")
    cluster.add_missed(["no_such_queue"], 1, enqueuer="rabbit")
    cluster.add_missed(["good_1", "good_2"], 1, enqueuer="file")
    cluster.wait_for_enqueued(2, seconds=5)
    expected = {
        "broken": "61",
        "nonsense": "The expression has 1 field: use five",
        "unimportable": "'nowhere' cannot be imported: ModuleNotFoundError",
        "task_raises": "RuntimeError: out of paper",
        "wrong_payload": "The payload must be an object of keyword arguments",
        "queue_raises": "ZeroDivisionError: the queue divided by zero",
        "no_such_queue": "There is no enqueuer named 'rabbit'",
        "good_1": "",
        "good_2": "",
    }
    wait_until(
        lambda: all(words in _errors(cluster)[job_id] for job_id, words in expected.items()),
        seconds=5,
        complaint=lambda: str(_errors(cluster)),
    )
    assert (_errors(cluster)["good_1"], _errors(cluster)["good_2"]) == ("", "")
    assert _statuses(cluster) == {
        "unimportable": "failed",
        "task_raises": "failed",
        "wrong_payload": "failed",
        "queue_raises": "claimed",
        "no_such_queue": "failed",
        "good_1": "enqueued",
        "good_2": "enqueued",
    }
    cluster.add_missed(["good_3"], 1, enqueuer="file")
    cluster.wait_for_enqueued(3, seconds=5)
    assert "tick failed" not in replica.output
    assert replica.stop() == 0


def test_a_mended_job_runs_and_its_error_goes(sqlite_cluster: Cluster) -> None:
    cluster = sqlite_cluster
    cluster.start_one(*FAST, **_enqueuers(cluster))
    due = cluster.add_missed(["report"], 1, cron_expression="* * * * 8", enqueuer="file")
    plan_from = cluster.jobs.values_list("plan_from", flat=True).get()
    wait_until(lambda: "8" in _errors(cluster)["report"], seconds=5)
    cluster.jobs.update(cron_expression="* * * * *", plan_from=plan_from)
    cluster.wait_for_enqueued(1, seconds=5)
    wait_until(lambda: _errors(cluster)["report"] == "", seconds=5)
    assert set(cluster.enqueued()) == due


def test_a_failed_enqueue_is_retried_at_once_with_the_same_run(sqlite_cluster: Cluster) -> None:
    cluster = sqlite_cluster
    cluster.start_one(*FAST, **_enqueuers(cluster))
    cluster.add_missed(["report"], 1, enqueuer="flaky")
    wait_until(lambda: _statuses(cluster) == {"report": "enqueued"}, seconds=5)
    run = cluster.runs.get()
    assert (run.attempts, run.error, str(run.pk)) == (2, "", run.task_id)
    assert _errors(cluster) == {"report": ""}
    assert "report: tries again: the queue is full" in cluster.output


def test_a_queue_that_keeps_failing_is_left_alone_for_half_a_minute(
    sqlite_cluster: Cluster,
) -> None:
    cluster = sqlite_cluster
    cluster.start_one(*FAST, **_enqueuers(cluster))
    cluster.add_missed(["report"], 1, enqueuer="raising")
    wait_until(lambda: cluster.runs.filter(attempts=2).exists(), seconds=5)
    wait_until(lambda: "ZeroDivisionError" in _errors(cluster)["report"], seconds=5)
    cluster.replicas[0].wait_for_tick()
    cluster.replicas[0].wait_for_tick()
    run = cluster.runs.get()
    assert (run.status, run.attempts) == ("claimed", 2)
    assert run.lease_until is not None
    waits = (run.lease_until - run.created_at).total_seconds()
    assert 24 <= waits <= 35


def test_a_task_that_was_never_registered_is_not_executed(
    sqlite_cluster: Cluster, tmp_path: Path
) -> None:
    cluster = sqlite_cluster
    proof = tmp_path / "executed"
    cluster.start_one(*FAST, **_enqueuers(cluster))
    payload = {"command": f"touch {proof}"}
    cluster.add_missed(["direct"], 1, task_name="os.system", payload=payload)
    imported = "tests.integration.tasks.append_line"
    cluster.add_missed(["imported"], 1, task_name=imported, payload={"path": str(proof)})
    wait_until(lambda: _statuses(cluster) == {"direct": "failed", "imported": "failed"}, seconds=5)
    assert "'os.system' is not a registered task, nor allowed" in _errors(cluster)["direct"]
    assert "which ALLOWED_TASKS does not allow" in _errors(cluster)["imported"]
    assert cluster.stop() == [0]
    assert not proof.exists()


def _hanging(cluster: Cluster) -> dict[str, Any]:
    return {"BACKEND": FILE_ENQUEUER, "OPTIONS": {"path": str(cluster.file), "seconds": 300}}


def test_a_queue_that_hangs_does_not_hold_up_the_others(sqlite_cluster: Cluster) -> None:
    cluster = sqlite_cluster
    cluster.start_one(*FAST, **_enqueuers(cluster, hanging=_hanging(cluster)))
    cluster.add_missed(["hung"], 1, enqueuer="hanging")
    due = cluster.add_missed(["good"], 1, enqueuer="file")
    cluster.wait_for_enqueued(1, seconds=5)
    assert set(cluster.enqueued()) == due


@pytest.mark.slow
def test_a_queue_that_hangs_is_given_up_in_time(sqlite_cluster: Cluster) -> None:
    cluster = sqlite_cluster
    replica = cluster.start_one(*FAST, **_enqueuers(cluster, hanging=_hanging(cluster)))
    cluster.add_missed(["hung"], 1, enqueuer="hanging")
    wait_until(lambda: "did not answer in time" in _errors(cluster)["hung"], seconds=50)
    due = cluster.add_missed(["good"], 1, enqueuer="file")
    cluster.wait_for_enqueued(1, seconds=50)
    assert set(cluster.enqueued()) == due
    assert replica.is_alive
