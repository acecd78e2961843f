"""A Celery app whose broker is in memory, and enqueuers of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from celery import Celery, Task
from django.test import modify_settings
from kombu.transport import memory

from django_dyncron.enqueuers import celery as adapter
from django_dyncron.enqueuers.celery import CeleryTaskEnqueuer
from tests.django.celery.sending import Make


@pytest.fixture
def app() -> Iterator[Celery]:
    """An app with tasks of each kind, which is the current one for the enqueuer alone."""
    app = Celery("shop", broker="memory://", set_as_current=False)

    @app.task(name="pack", shared=False)
    def pack(box: str, count: int = 1) -> None: ...

    @app.task(name="ship", shared=False, bind=True, ignore_result=True, autoretry_for=(OSError,))
    def ship(self: Task, box: str) -> None: ...

    @app.task(name="anything", shared=False, typing=False)
    def anything() -> None: ...

    class Weigh(Task):  # type: ignore[misc]
        name = "weigh"

        def run(self, box: str) -> None: ...

    app.register_task(Weigh())
    yield app
    app.close()
    # What is kept in memory is shared by all apps.
    memory.Channel.queues.clear()


@pytest.fixture
def make(app: Celery, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Make an enqueuer of ``app``, with these settings of Celery."""
    monkeypatch.setattr(adapter, "app_or_default", lambda: app)

    def make(**conf: Any) -> CeleryTaskEnqueuer:
        app.conf.update(conf)
        return CeleryTaskEnqueuer()

    return make


@pytest.fixture(autouse=True)
def _shop() -> Iterator[None]:
    apps = ["tests.shop", "tests.engines.on_celery"]
    with modify_settings(INSTALLED_APPS={"append": apps}):
        import tests.shop.tasks

        tests.shop.tasks.runs.clear()
        yield
