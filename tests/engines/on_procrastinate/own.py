"""A Procrastinate app of its own, with its jobs in memory, and tasks of every kind."""

from __future__ import annotations

from procrastinate import App, JobContext
from procrastinate.testing import InMemoryConnector

connector = InMemoryConnector()
app = App(connector=connector)


@app.task
def pack(box: str, count: int = 1) -> None: ...


@app.task(name="nightly", aliases=["daily"], queue="night", priority=3)
async def clean() -> None: ...


@app.task(pass_context=True)
def ship(context: JobContext, box: str) -> None: ...


@app.task(lock="the one pen", queueing_lock="the one form")
def sign(box: str) -> None: ...


def not_a_task() -> None: ...
