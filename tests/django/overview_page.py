"""The overview as tests read it."""

from __future__ import annotations

import re

from django.test import Client

from tests.django.admin_pages import JOBS, at

OVERVIEW = f"{JOBS}overview/"
MONDAY = at("2026-11-30T10:20Z")


def page(client: Client, address: str = OVERVIEW) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def section(html: str, title: str) -> str:
    found = re.search(rf"<h2>{title}</h2>(.*?)</section>", html)
    assert found
    return found[1]
