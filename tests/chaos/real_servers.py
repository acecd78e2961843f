"""Verdicts on real processes: what their queues hold, against what their run rows say."""

from __future__ import annotations

from collections import Counter, defaultdict

from tests.chaos.verdict import Named, Verdict
from tests.integration.cluster import Cluster, Slots
from tests.integration.lines import read_lines

_CLOSED = ("skipped", "failed", "unknown")


def judge_cluster(
    cluster: Cluster, due: Slots, elsewhere: list[Named] | None = None, *, may_repeat: bool = False
) -> Verdict:
    """Judge the ``due`` slots: those in the file of the file enqueuer, and those ``elsewhere``.

    ``may_repeat`` allows the file, a queue without memory, to hold one run twice, by the same id.
    """
    ids = defaultdict(set)
    times: Counter[Named] = Counter()
    for job_id, slot, run_id, _ in read_lines(cluster.file):
        ids[job_id, slot].add(run_id)
        times[job_id, slot] += 1
    inside = Counter(elsewhere or [])
    twice = {one for one, count in inside.items() if count > 1 or one in times}
    twice |= {one for one in times if len(ids[one]) > 1 or (times[one] > 1 and not may_repeat)}
    rows: dict[Named, str] = {}
    for run in cluster.runs.all():
        rows[run.job_id, f"{run.scheduled_for:%Y-%m-%dT%H:%MZ}"] = run.status
    delivered = times.keys() | inside.keys()
    lost = {one for one in due - delivered if rows.get(one) not in _CLOSED}
    lost |= {one for one in due if rows.get(one, "claimed") in ("claimed", "running")}
    return Verdict(
        slots=len(due),
        delivered=len(due & delivered),
        recorded=len(due - delivered - lost),
        repeats=sum(count - 1 for count in times.values()),
        duplicates=sorted(twice),
        losses=sorted(lost),
        strangers=sorted(delivered - due),
    )
