"""Cron jobs registered by a project itself: with another base, on another site."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import django
import pytest
from django.contrib import admin
from django.http import HttpRequest
from django.test import Client
from django.urls import path

from django_dyncron.admin import (
    CronJobAdmin,
    CronJobAdminMixin,
    CronRunAdmin,
    ReplicaAdmin,
)
from django_dyncron.models import CronJob, CronRun, Replica
from tests.django.admin_pages import JOBS, a_job, a_run, client_with

pytestmark = pytest.mark.django_db

ALL = ("view_cronjob", "add_cronjob", "change_cronjob", "delete_cronjob", "pause_cronjob")
BUTTON = r'<button type="submit" name="CHANGE_FORM-action" value="(\w+)">'
PAGES = ("", "{pk}/change/", "{pk}/delete/", "{pk}/history/", "add/", "overview/")


class ThemeModelAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """The base class of another theme."""

    save_on_top = True


class FormerModelAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """A base from before Django 6.1, when actions were for the list alone."""

    def get_actions(self, request: HttpRequest) -> Any:
        return super().get_actions(request)


class TupleModelAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """A base that makes tuples of the actions, as they were before Django 6.1."""

    def get_actions(self, request: HttpRequest, action_location: Any = None) -> Any:
        options = {"action_location": action_location} if action_location else {}
        found: dict[str, Any] = super().get_actions(request, **options)
        return {
            name: action
            if isinstance(action, tuple)
            else (action.func, action.name, action.description)
            for name, action in found.items()
        }


@pytest.fixture
def registry() -> Iterator[None]:
    """Have cron jobs registered as they were when the test is over."""
    before = dict(admin.site._registry)
    yield
    admin.site._registry.clear()
    admin.site._registry.update(before)


def register_again(base: type[Any], settings: Any) -> None:
    admin.site.unregister(CronJob)
    admin.site.register(CronJob, type("CronJobAdmin", (CronJobAdminMixin, base), {}))
    settings.ROOT_URLCONF = (path("admin/", admin.site.urls),)


def pages_of(client: Client, root: str, pk: int) -> list[str]:
    answers = [client.get(root + page.format(pk=pk)) for page in PAGES]
    assert [answer.status_code for answer in answers] == [200] * len(PAGES)
    return [answer.content.decode() for answer in answers]


@pytest.mark.usefixtures("registry")
def test_two_lines_put_it_on_the_base_of_another_theme(settings: Any) -> None:
    register_again(ThemeModelAdmin, settings)
    client = client_with(*ALL)

    pages = pages_of(client, JOBS, a_job().pk)

    assert "newsletter" in pages[0]
    assert pages[1].count('name="_save"') == 2
    assert pages[1].count('name="_check"') == 2
    assert re.findall(BUTTON, pages[1]) == ["pause_jobs"]


@pytest.mark.usefixtures("registry")
@pytest.mark.filterwarnings("ignore:Overriding get_actions")
def test_a_base_that_knows_no_actions_on_the_form_has_none_there(settings: Any) -> None:
    register_again(FormerModelAdmin, settings)
    client = client_with(*ALL)

    pages = pages_of(client, JOBS, a_job().pk)

    expected = [] if django.VERSION >= (6, 1) else ["pause_jobs"]
    assert re.findall(BUTTON, pages[1]) == expected
    assert '<option value="pause_jobs">' in pages[0]


@pytest.mark.usefixtures("registry")
def test_actions_may_be_tuples(settings: Any) -> None:
    register_again(TupleModelAdmin, settings)
    client = client_with(*ALL)
    job = a_job()

    assert re.findall(BUTTON, pages_of(client, JOBS, job.pk)[1]) == ["pause_jobs"]
    action = {"CHANGE_FORM-action": "pause_jobs", "_selected_action": job.pk, "reason": ""}
    assert client.post(f"{JOBS}{job.pk}/change/", action).status_code == 302
    assert not CronJob.objects.get().is_active


def test_pages_of_another_site_stay_within_it(settings: Any) -> None:
    ops = admin.AdminSite("ops")
    ops.register(CronJob, CronJobAdmin)
    ops.register(CronRun, CronRunAdmin)
    ops.register(Replica, ReplicaAdmin)
    settings.ROOT_URLCONF = (path("admin/", admin.site.urls), path("ops/", ops.urls))
    client = client_with(*ALL, "run_cronjob", "view_cronrun", "view_replica")
    job, run = a_job(), a_run("newsletter", "2026-11-30T06:30Z", "failed", error="OSError")
    Replica.objects.create(replica_id="r-1", tick_interval_seconds=30)
    root = "/ops/django_dyncron/"

    pages = pages_of(client, f"{root}cronjob/", job.pk)
    others = ("cronjob/pause-everything/", "cronrun/", f"cronrun/{run.pk}/change/", "replica/")
    for other in others:
        answer = client.get(root + other)
        assert answer.status_code == 200
        pages.append(answer.content.decode())
    for name in ("run_jobs", "pause_jobs"):
        act = {"action": name, "_selected_action": [job.pk], "reason": ""}
        answer = client.post(f"{root}cronjob/", act, follow=True)
        assert answer.redirect_chain == [(f"{root}cronjob/", 302)]
        pages.append(answer.content.decode())

    for page in pages:
        addresses = re.findall(r'(?:href|action|data-url)="(/[^"]*)"', page)
        assert f"{root}cronjob/" in addresses
        assert [address for address in addresses if address.startswith("/admin/")] == []
    assert not CronJob.objects.get().is_active
    assert CronRun.objects.filter(asked_by="staff").count() == 1
