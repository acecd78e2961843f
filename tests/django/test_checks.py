"""System checks: one message for each wrong setting, and none for right ones."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import django
import pytest
from django.core.checks import Tags, Warning, run_checks  # noqa: A004
from django.db import connection
from django.test import override_settings
from huey import MemoryHuey

from django_dyncron import checks

HERE = __name__
ROOT = Path(__file__).resolve().parents[2]
FLAVOUR = "django.tasks" if django.VERSION >= (6, 0) else "django_tasks"


def messages(**dyncron: Any) -> list[Any]:
    with override_settings(DYNCRON=dyncron):
        return run_checks(tags=[checks.TAG])


def found(**dyncron: Any) -> list[tuple[str, str, str | None]]:
    return [(message.id, message.msg, message.hint) for message in messages(**dyncron)]


def test_the_defaults_are_right(settings: Any) -> None:
    del settings.DYNCRON
    assert run_checks(tags=[checks.TAG]) == []


@pytest.mark.parametrize(
    "dyncron",
    [
        {"ENQUEUER": "local", "LOCK_PROVIDER": "none"},
        {"ENQUEUER": {"BACKEND": "local", "OPTIONS": {"max_workers": 8}}},
        {"LOCK_PROVIDER": "redis://localhost:6379/0", "TICK_INTERVAL_SECONDS": 0.5},
        {"ALLOWED_TASKS": ["shop.tasks.*", "shop.*.nightly"], "TIME_ZONE": "Europe/Berlin"},
    ],
)
def test_right_settings_are_silent(dyncron: dict[str, Any]) -> None:
    assert messages(**dyncron) == []


@override_settings(USE_TZ=False)
def test_use_tz_must_be_on() -> None:
    assert found() == [("django_dyncron.E001", "USE_TZ is off.", "Set USE_TZ = True.")]


def test_an_unknown_key() -> None:
    assert found(TICK_INTERVAL=5, ENQUEUR="local") == [
        (
            "django_dyncron.E002",
            'DYNCRON["TICK_INTERVAL"] is not a setting.',
            'Did you mean "TICK_INTERVAL_SECONDS"?',
        ),
        (
            "django_dyncron.E002",
            'DYNCRON["ENQUEUR"] is not a setting.',
            'Did you mean "ENQUEUER"?',
        ),
    ]


def test_wrong_values_are_all_found_at_once() -> None:
    assert found(TICK_INTERVAL_SECONDS=0, TIME_ZONE="Mars/Base", ALLOWED_TASKS=["*"])[::2] == [
        (
            "django_dyncron.E003",
            'DYNCRON["TICK_INTERVAL_SECONDS"] is 0, not a number above 0 and up to 3600.',
            None,
        ),
        (
            "django_dyncron.E003",
            "DYNCRON[\"ALLOWED_TASKS\"] holds '*', which can match no task.",
            'Write dotted paths such as "shop.tasks.*", where * is exactly one segment.',
        ),
    ]
    (message,) = messages(TIME_ZONE="Mars/Base")
    assert message.msg == "DYNCRON[\"TIME_ZONE\"] is 'Mars/Base'."


@override_settings(DYNCRON=["not", "a", "dict"])
def test_no_dict_at_all() -> None:
    (message,) = run_checks(tags=[checks.TAG])
    assert (message.id, message.msg) == (
        "django_dyncron.E003",
        "DYNCRON is ['not', 'a', 'dict'], not a dict.",
    )


def test_a_database_that_does_not_exist_is_said_once() -> None:
    assert found(DATABASE="defalt") == [
        (
            "django_dyncron.E004",
            'DYNCRON["DATABASE"] is "defalt", which DATABASES does not have.',
            'Did you mean "default"?',
        )
    ]


@pytest.mark.parametrize(
    "dyncron, id_, message, hint",
    [
        (
            {"LOCK_PROVIDER": {"BACKEND": "redis", "OPTIONS": {"ur": "redis://x"}}},
            "django_dyncron.E005",
            'DYNCRON["LOCK_PROVIDER"]["OPTIONS"]["ur"] is not an option of RedisLockProvider.',
            'Did you mean "url"?',
        ),
        (
            {"LOCK_PROVIDER": "redi"},
            "django_dyncron.E005",
            "DYNCRON[\"LOCK_PROVIDER\"] is 'redi', no lock provider.",
            'Did you mean "redis"?',
        ),
        (
            {"ENQUEUER": "lokal"},
            "django_dyncron.E006",
            "DYNCRON[\"ENQUEUER\"] is 'lokal', no enqueuer.",
            'Did you mean "local"?',
        ),
        (
            {"ENQUEUERS": {"a": {"BACKEND": "local", "OPTIONS": {"size": 1}}}},
            "django_dyncron.E006",
            'DYNCRON["ENQUEUERS"]["a"]["OPTIONS"]["size"] is not an option of LocalTaskEnqueuer.',
            "Choose one of max_workers.",
        ),
        (
            {"REPOSITORY": "decimal.Decimal"},
            "django_dyncron.E007",
            "DYNCRON[\"REPOSITORY\"] is 'decimal.Decimal', not a class of ICronJobRepository.",
            None,
        ),
    ],
)
def test_what_cannot_be_built(
    dyncron: dict[str, Any], id_: str, message: str, hint: str | None
) -> None:
    assert found(**dyncron) == [(id_, message, hint)]


def test_a_client_library_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "django_dyncron.locks.redis", raising=False)
    for name in [name for name in sys.modules if name == "redis" or name.startswith("redis.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "redis", None)
    assert found(LOCK_PROVIDER="redis://localhost:6379/0") == [
        (
            "django_dyncron.E008",
            'DYNCRON["LOCK_PROVIDER"] needs the Python package "redis", which is not installed.',
            'Install it with: pip install "django-dyncron[redis]"',
        )
    ]


def test_a_database_that_is_not_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "vendor", "oracle")
    assert found(LOCK_PROVIDER="none") == [
        (
            "django_dyncron.E009",
            'The database "default" is oracle, which is not supported.',
            'Keep the tables in PostgreSQL, SQLite or MySQL: set DYNCRON["DATABASE"].',
        )
    ]


@pytest.mark.parametrize(
    "version, databases, expected",
    [
        ((3, 34, 1), ["default"], ["SQLite 3.34.1 is too old for cron jobs."]),
        ((3, 34, 1), [], []),
        ((3, 34, 1), ["other"], []),
        ((3, 35, 0), ["default"], []),
    ],
)
def test_an_sqlite_that_is_too_old(
    monkeypatch: pytest.MonkeyPatch,
    version: tuple[int, ...],
    databases: list[str],
    expected: list[str],
) -> None:
    monkeypatch.setattr(connection, "vendor", "sqlite")
    monkeypatch.setattr("sqlite3.sqlite_version_info", version)
    found = checks.check_sqlite_version(databases=databases)
    assert [message.msg for message in found] == expected
    assert {message.id for message in found} <= {"django_dyncron.E010"}


def test_a_pattern_that_allows_too_much() -> None:
    (message,) = messages(ALLOWED_TASKS=["*.tasks.*", "shop.tasks.*"])
    assert isinstance(message, Warning)
    assert message.id == "django_dyncron.W001"
    assert '"*.tasks.*", which opens every installed package' in message.msg


@pytest.mark.parametrize("value", ["memory", "django_dyncron.locks.memory.MemoryLockProvider"])
def test_locks_in_memory_are_for_development(value: str) -> None:
    (message,) = messages(LOCK_PROVIDER=value)
    assert (message.id, message.level) == ("django_dyncron.W002", Warning("").level)
    with override_settings(DEBUG=True):
        assert messages(LOCK_PROVIDER=value) == []


@pytest.mark.parametrize("kind", ["Immediate", "Dummy"])
def test_a_task_backend_without_workers(kind: str) -> None:
    backend = f"{FLAVOUR}.backends.{kind.lower()}.{kind}Backend"
    with override_settings(TASKS={"default": {"BACKEND": backend}}):
        (message,) = messages(ENQUEUERS={"queue": "django_tasks"})
    assert (message.id, message.msg) == (
        "django_dyncron.W003",
        f'The enqueuer "queue" uses the {kind}Backend of TASKS, which has no workers.',
    )


@pytest.mark.parametrize(
    "is_immediate, words", [(True, "immediate mode of Huey"), (False, "MemoryStorage of Huey")]
)
def test_an_instance_of_huey_without_workers(is_immediate: bool, words: str) -> None:
    instance = MemoryHuey("queue", immediate=is_immediate)
    (message,) = messages(ENQUEUER={"BACKEND": "huey", "OPTIONS": {"huey": instance}})
    assert (message.id, message.msg) == (
        "django_dyncron.W003",
        f'The enqueuer "default" uses the {words}, which has no workers.',
    )


def test_a_task_backend_with_workers() -> None:
    tasks = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
    with override_settings(TASKS=tasks):
        assert messages(ENQUEUER="django_tasks") == []


# --- the lock table ---------------------------------------------------------------------------


def lock_table(databases: list[str], **dyncron: Any) -> list[str]:
    with override_settings(DYNCRON=dyncron):
        found = run_checks(tags=[Tags.database], databases=databases)
    return [message.msg for message in found if message.id == "django_dyncron.W004"]


OWN_TABLE = {"BACKEND": "database", "OPTIONS": {"table_name": "own_locks"}}


@pytest.mark.django_db
def test_the_lock_table_is_looked_for_in_its_database() -> None:
    assert lock_table(["default"]) == []
    assert lock_table(["default"], LOCK_PROVIDER=OWN_TABLE) == [
        'The lock table "own_locks" is missing from the database "default".'
    ]
    assert lock_table([], LOCK_PROVIDER=OWN_TABLE) == []
    with override_settings(DYNCRON={"LOCK_PROVIDER": OWN_TABLE}):
        assert checks.check_lock_table() == []


@pytest.mark.django_db
def test_a_lock_table_that_is_not_needed_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django_dyncron.conf.locks._TABLE", "gone")
    assert lock_table(["default"]) == [
        'The lock table "gone" is missing from the database "default".'
    ]
    assert lock_table(["default"], LOCK_PROVIDER="none") == []
    assert lock_table(["default"], LOCK_PROVIDER="redis://localhost") == []


@pytest.mark.django_db
def test_before_the_first_migrate_nothing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django_dyncron.conf.locks._TABLE", "gone")
    monkeypatch.setattr("django_dyncron.models.CronJob._meta.db_table", "gone_too")
    assert lock_table(["default"]) == []


@pytest.fixture
def own_postgres_table(postgres_alias: str) -> str:
    from django.db import connections

    with connections[postgres_alias].cursor() as cursor:
        cursor.execute('CREATE SCHEMA "Own"')
        cursor.execute('CREATE TABLE "Own"."Locks" (lock_key text)')
    return postgres_alias


def test_a_lock_table_in_a_schema(own_postgres_table: str) -> None:
    alias = own_postgres_table

    def found(table: str) -> list[str]:
        options = {"table_name": table}
        provider = {"BACKEND": "postgres", "OPTIONS": options}
        with override_settings(DYNCRON={"DATABASE": alias, "LOCK_PROVIDER": provider}):
            return [message.msg for message in checks.check_lock_table(databases=[alias])]

    assert found("Own.Locks") == []
    assert found("own.locks") == [
        f'The lock table "own.locks" is missing from the database "{alias}".'
    ]
    assert found("django_dyncron_cronlock") == []


# --- documentation ----------------------------------------------------------------------------


def test_every_id_has_an_anchor_in_the_documentation() -> None:
    modules = (ROOT / "django_dyncron" / "checks").glob("*.py")
    source = "".join(module.read_text() for module in modules)
    ids = set(re.findall(r"django_dyncron\.[EWI]\d{3}", source))
    page = (ROOT / "docs" / "reference" / "system-checks.rst").read_text()
    anchors = set(re.findall(r"^\.\. _(django_dyncron\.[EWI]\d{3}):$", page, re.MULTILINE))
    assert ids == anchors
    assert len(ids) == 17
