"""Cron jobs as a crontab."""

from __future__ import annotations

from datetime import datetime
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from django_dyncron.models import CronJob

FOUR = (
    "# Left out: The expression has 4 fields: use five (minute, hour, day of month, month, day of "
    "week)"
)
pytestmark = pytest.mark.django_db


def add(job_id: str, expression: str, **columns: Any) -> None:
    CronJob.objects.create(job_id=job_id, task_name="t", cron_expression=expression, **columns)


def export(**options: Any) -> list[str]:
    output = StringIO()
    call_command("dyncron_export", format="crontab", stdout=output, **options)
    return output.getvalue().splitlines()[3:]


def test_a_crontab() -> None:
    add("a", "0 6 * * MON-FRI", description="Prices.\nFirst of all.")
    add("b's 50%", "@daily", time_zone="Europe/Berlin", jitter_seconds=30)
    add("c", "*/15 H(3-4) ? * ?", time_zone="Europe/Berlin")
    add("d", "0 0 * * MON#1", misfire_policy="skip")
    add("e", "0 0 * * *", is_active=False)
    add("f", "0 0 * *")
    add(
        "g",
        "0 0 * * *",
        starts_at=datetime.fromisoformat("2027-01-01T00:00Z"),
        ends_at=datetime.fromisoformat("2027-02-01T00:00Z"),
    )
    assert export(manage="./manage.py") == [
        "# a",
        "# Prices.",
        "# First of all.",
        "CRON_TZ=UTC",
        "0 6 * * 1-5 ./manage.py dyncron_run a",
        "",
        "# b's 50%",
        "# A crontab cannot say jitter_seconds = 30.",
        "CRON_TZ=Europe/Berlin",
        "0 0 * * * ./manage.py dyncron_run 'b'\"'\"'s 50\\%'",
        "",
        "# c",
        "*/15 4 * * * ./manage.py dyncron_run c",
        "",
        "# d",
        "# A crontab cannot say misfire_policy = skip.",
        "CRON_TZ=UTC",
        "# Left out, as a crontab has no such days: 0 0 * * 1#1 ./manage.py dyncron_run d",
        "",
        "# e",
        "# Paused: 0 0 * * * ./manage.py dyncron_run e",
        "",
        "# f",
        FOUR,
        "",
        "# g",
        "# Not before 2027-01-01T00:00Z: add this line then.",
        "# Not after 2027-02-01T00:00Z: remove this line then.",
        "0 0 * * * ./manage.py dyncron_run g",
    ]


def test_no_name_adds_a_line_of_its_own() -> None:
    add("a\n* * * * * rm -rf /", "@daily", description="b\r* * * * * rm\n* * * * * rm")
    lines = export()
    assert [line for line in lines if line and not line.startswith("#")] == ["CRON_TZ=UTC"]


def test_a_job_id_that_looks_like_an_option() -> None:
    add("-nightly", "0 6 * * *")
    assert export()[-1] == "0 6 * * * python manage.py dyncron_run -- -nightly"


def test_half_a_character_is_no_command() -> None:
    with pytest.raises(CommandError) as caught:
        export(manage="./manage\udcff.py")
    assert str(caught.value) == r'--manage is no text: half a character in "./manage\udcff.py".'
