"""Spans and metrics of cron jobs for OpenTelemetry."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.dispatch import receiver
from opentelemetry import metrics, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from django_dyncron import CurrentRun, TickResult, signals
from django_dyncron.core.definitions import Run

tracer = trace.get_tracer("django_dyncron")
meter = metrics.get_meter("django_dyncron")
enqueued = meter.create_counter("dyncron.runs.enqueued", unit="{run}")
finished = meter.create_counter("dyncron.runs.finished", unit="{run}")
skipped = meter.create_counter("dyncron.slots.skipped", unit="{slot}")
lateness_seconds = meter.create_histogram("dyncron.lateness", unit="s")
tick_seconds = meter.create_histogram("dyncron.tick.duration", unit="s")

MOST_OPEN = 1000
open_spans: dict[UUID, Span] = {}


@receiver(signals.run_started)
def begin_span(run: CurrentRun, **_: Any) -> None:
    if len(open_spans) >= MOST_OPEN:
        # The oldest: a queue may have repeated that run in another process.
        open_spans.pop(next(iter(open_spans))).end()
    open_spans[run.run_id] = new_span(run)


@receiver(signals.run_succeeded)
def end_span(run: CurrentRun, **_: Any) -> None:
    span = open_spans.pop(run.run_id, None) or new_span(run)
    span.end()
    finished.add(1, {"status": "succeeded"})


@receiver(signals.run_failed)
def end_span_with_error(run: CurrentRun, error: str, status: str, **_: Any) -> None:
    # One that could not be handed over was never begun.
    span = open_spans.pop(run.run_id, None) or new_span(run)
    span.set_status(Status(StatusCode.ERROR, error))
    span.end()
    finished.add(1, {"status": status})


@receiver(signals.run_enqueued)
def count_enqueued(run: Run, lateness: timedelta | None, **_: Any) -> None:
    enqueued.add(1, {"queue": run.queue})
    if lateness is not None:
        lateness_seconds.record(lateness.total_seconds())


@receiver(signals.slots_skipped)
def count_skipped(reason: str, count: int, **_: Any) -> None:
    skipped.add(count, {"reason": reason})


@receiver(signals.tick_done)
def measure_tick(result: TickResult, **_: Any) -> None:
    tick_seconds.record(result.took.total_seconds())


def new_span(run: CurrentRun) -> Span:
    slot = run.scheduled_for.isoformat() if run.scheduled_for else "by hand"
    return tracer.start_span(
        f"cron {run.job_id}",
        kind=SpanKind.CONSUMER,
        attributes={
            "dyncron.job_id": run.job_id,
            "dyncron.run_id": str(run.run_id),
            "dyncron.scheduled_for": slot,
        },
    )
