"""The recipes for OpenTelemetry and Sentry, each in its own process: both patch what they find."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import yaml

from tests.docs.blocks import ROOT, blocks

_BEGINNING = """
import json, os, sys
from datetime import UTC, datetime, timedelta
from uuid import UUID
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
sys.path[:0] = [{root!r}, {examples!r}]
import django
django.setup()
from django_dyncron.core.definitions import Run
from django_dyncron.core.events import *
from django_dyncron.logs import log_event
from django_dyncron.signal_sending import send_signals
SIX = datetime(2026, 11, 30, 6, 0, tzinfo=UTC)
def run(number, job_id="nightly-report"):
    payload = {{"key": "of nobody's business"}}
    return Run(UUID(int=number), job_id, "shop.report", payload, "reports", SIX, due_at=SIX)
def tell(*events):
    for event in events:
        log_event(event)
        send_signals(event)
"""

_EVENTS = """
tell(
    RunEnqueued(run(1), SIX + timedelta(seconds=2)),
    RunStarted(run(1)),
    RunFinished(run(1)),
    RunStarted(run(2)),
    RunFailed(run(2), "ValueError: no paper"),
    RunFailed(run(3), "no such task"),
    RunStarted(run(4, "other")),
    RunFinished(run(4, "other")),
    RunLost(run(5)),
    SlotsSkipped("a", "misfire", SIX, SIX, 7),
    TickResult(SIX, took=timedelta(seconds=0.25)),
)
"""


def answer_of(script: str) -> Any:
    """Return the JSON that a Python process prints in its last line."""
    beginning = _BEGINNING.format(root=str(ROOT), examples=str(ROOT / "docs" / "examples"))
    command = [sys.executable, "-W", "ignore", "-c", beginning + script]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_opentelemetry_gets_a_span_a_run_and_counts() -> None:
    told = answer_of(
        """
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
spans, reader, provider = InMemorySpanExporter(), InMemoryMetricReader(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
metrics.set_meter_provider(MeterProvider([reader]))
import opentelemetry_runs
"""
        + _EVENTS
        + """
points = {
    f"{metric.name} {' '.join(map(str, point.attributes.values()))}".strip():
        getattr(point, "value", None) or point.sum
    for scope in reader.get_metrics_data().resource_metrics[0].scope_metrics
    for metric in scope.metrics
    for point in metric.data.data_points
}
finished = [
    [span.name, span.attributes["dyncron.run_id"][-1], span.status.status_code.name,
     span.status.description]
    for span in spans.get_finished_spans()
]
print(json.dumps([finished, points, len(opentelemetry_runs.open_spans)]))
"""
    )
    spans, points, still_open = told
    assert spans == [
        ["cron nightly-report", "1", "UNSET", None],
        ["cron nightly-report", "2", "ERROR", "ValueError: no paper"],
        ["cron nightly-report", "3", "ERROR", "no such task"],
        ["cron other", "4", "UNSET", None],
    ]
    assert points == {
        "dyncron.runs.enqueued reports": 1,
        "dyncron.runs.finished succeeded": 2,
        "dyncron.runs.finished failed": 2,
        "dyncron.slots.skipped misfire": 7,
        "dyncron.lateness": 2.0,
        "dyncron.tick.duration": 0.25,
    }
    assert still_open == 0


_SENTRY = """
import sentry_sdk
from sentry_sdk.transport import Transport
class Kept(Transport):
    kept = []
    def capture_envelope(self, envelope):
        for item in envelope.items:
            self.kept.append((item.type, item.payload.json))
sentry_sdk.init("https://key@sentry.invalid/1", transport=Kept, auto_session_tracking=False)
import sentry_crons
"""


def test_sentry_gets_check_ins_and_errors() -> None:
    kept = answer_of(
        _SENTRY
        + _EVENTS
        + """
sentry_sdk.flush()
print(json.dumps(Kept.kept))
"""
    )
    check_ins = [
        (item["monitor_slug"], item["check_in_id"][-1], item["status"])
        for kind, item in kept
        if kind == "check_in"
    ]
    assert check_ins == [
        ("nightly-report", "1", "in_progress"),
        ("nightly-report", "1", "ok"),
        ("nightly-report", "2", "in_progress"),
        ("nightly-report", "2", "error"),
        ("nightly-report", "3", "error"),
        ("nightly-report", "5", "error"),
    ]
    errors = [item["logentry"]["message"] for kind, item in kept if kind == "event"]
    assert len(errors) == 3
    assert "of nobody's business" not in json.dumps(kept)


def test_sentry_gets_the_exception_of_a_local_task() -> None:
    kept = answer_of(
        _SENTRY
        + """
from django_dyncron.enqueuers.local import _Call, _error_of
def fail(key):
    raise ValueError("no paper")
assert _error_of(_Call(run(1), fail, None)) == "ValueError: no paper"
sentry_sdk.flush()
print(json.dumps(Kept.kept))
"""
    )
    (event,) = [item for kind, item in kept if kind == "event"]
    (error,) = event["exception"]["values"]
    assert (error["type"], error["value"], event["logger"]) == (
        "ValueError",
        "no paper",
        "django_dyncron",
    )


def test_the_alerts_name_metrics_that_there_are() -> None:
    page = ROOT / "docs" / "howto" / "send-metrics.rst"
    reference = (ROOT / "docs" / "reference" / "metrics.rst").read_text()
    (rules,) = [
        yaml.safe_load(block.text) for block in blocks(page) if block.text.startswith("groups:")
    ]
    expressions = " ".join(rule["expr"] for rule in rules["groups"][0]["rules"])
    names = {word for word in _words(expressions) if word.startswith("dyncron_")}
    assert len(names) == 5
    for name in names:
        assert f"``{name.removesuffix('_bucket')}``" in reference


def _words(text: str) -> list[str]:
    return "".join(char if char.isalnum() or char == "_" else " " for char in text).split()
