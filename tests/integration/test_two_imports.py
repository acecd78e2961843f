"""Two imports of the same file at once, in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connections

from tests.databases import database_alias

_JOBS = 300
_WRITTEN = "JSON: 300 new."
_THERE = "JSON: 300 already there."
_AT_THE_SAME_MOMENT = "at the same moment; nothing was imported"


@pytest.mark.parametrize("database", ["postgres_database_url", "sqlite_url"])
def test_one_of_two_imports_at_once_makes_the_jobs(
    request: pytest.FixtureRequest,
    database: str,
    process_environment: Callable[[str], dict[str, str]],
    django_db_blocker: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    url = request.getfixturevalue(database)
    jobs = [
        {"job_id": f"job {n}", "task_name": "tests.shop.tasks.restock", "cron_expression": "@daily"}
        for n in range(_JOBS)
    ]
    file = tmp_path / "jobs.json"
    file.write_text(json.dumps({"format": "django-dyncron", "version": 1, "jobs": jobs}))
    environment = process_environment(url)
    environment["DJANGO_SETTINGS_MODULE"] = "tests.importing.shop_settings"
    command = [sys.executable, "-m", "django", "dyncron_import", "json", str(file)]

    both = [
        subprocess.Popen(
            command,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=60)[0] for process in both]

    first, second = sorted(outputs, key=lambda output: _WRITTEN not in output)
    assert _WRITTEN in first, outputs
    assert _THERE in second or _AT_THE_SAME_MOMENT in second, second
    with (
        django_db_blocker.unblock(),  # type: ignore[attr-defined]
        database_alias("imported", url),
        connections["imported"].cursor() as cursor,
    ):
        cursor.execute("SELECT count(*), count(DISTINCT job_id) FROM django_dyncron_cronjob")
        assert cursor.fetchone() == (_JOBS, _JOBS)
