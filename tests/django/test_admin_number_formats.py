"""Keys in pages are plain numbers, however a project has numbers written."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.django.admin_pages import JOBS, a_job, a_run, client_with

pytestmark = pytest.mark.django_db


def test_keys_are_not_grouped_by_thousands(settings: Any) -> None:
    settings.USE_THOUSAND_SEPARATOR = True
    client = client_with(
        "view_cronjob",
        "add_cronjob",
        "change_cronjob",
        "delete_cronjob",
        "pause_cronjob",
        "run_cronjob",
        "view_cronrun",
    )
    a_job(id=12345)
    a_run("newsletter", "2026-11-30T06:30Z", "succeeded")
    addresses = [
        JOBS,
        f"{JOBS}12345/change/",
        f"{JOBS}12345/delete/",
        f"{JOBS}12345/history/",
        f"{JOBS}add/?_copy_of=12345",
        f"{JOBS}overview/",
    ]

    for address in addresses:
        answer = client.get(address)
        assert answer.status_code == 200
        assert re.findall(r'[\w-]+="[^"]*12,345[^"]*"', answer.content.decode()) == []
    asked = {"action": "pause_jobs", "_selected_action": [12345]}
    assert 'name="_selected_action" value="12345"' in client.post(JOBS, asked).content.decode()
    page = client.get(f"{JOBS}12345/change/").content.decode()
    assert re.findall(r'data-job="([^"]*)"', page) == ["12345", "12345"]
    assert client.post(f"{JOBS}preview/", {"job": "12345"}).status_code == 200
