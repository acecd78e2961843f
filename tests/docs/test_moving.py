"""The page about moving from django-celery-beat, as far as it can be done without a beat."""

from __future__ import annotations

from collections import Counter
from io import StringIO
from typing import Any

import pytest
import time_machine
from django.core.management import call_command

from django_dyncron.models import CronJob
from tests.docs.blocks import ROOT, blocks
from tests.importing.loading import load_tables

PAGE = ROOT / "docs" / "howto" / "come-from-django-celery-beat.rst"


@pytest.mark.django_db
def test_what_was_enabled_over_there_is_resumed_and_nothing_else(settings: Any) -> None:
    settings.DYNCRON = {"ALLOWED_TASKS": ["tests.shop.tasks.*"]}
    load_tables("django_celery_beat")
    (resuming,) = (block.text for block in blocks(PAGE) if "not switched on" in block.text)
    with time_machine.travel("2026-12-01T00:00:30Z", tick=False):
        call_command("dyncron_import", "django-celery-beat", "--disabled", stdout=StringIO())
    assert not CronJob.objects.filter(is_active=True).exists()
    exec(resuming, {})  # noqa: S102
    assert CronJob.objects.filter(is_active=True).count() > 20
    paused = CronJob.objects.filter(is_active=False).values_list("pause_reason", flat=True)
    assert Counter(paused) == {"Disabled in django-celery-beat.": 1}
