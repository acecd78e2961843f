"""What the settings name, built: lock providers, enqueuers, repositories."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from django.test import override_settings

from django_dyncron.conf import (
    ConfigurationError,
    MissingClient,
    database_alias,
    get_settings,
    load_enqueuer,
    load_enqueuers,
    load_lock_provider,
    load_repository,
)
from django_dyncron.core.ports import ICronJobRepository, ILockProvider, ITaskEnqueuer
from django_dyncron.enqueuers.local import LocalTaskEnqueuer
from django_dyncron.locks.memory import MemoryLockProvider
from django_dyncron.locks.postgres import PostgresLockProvider
from django_dyncron.locks.redis import RedisLockProvider
from django_dyncron.locks.sqlite import SqliteLockProvider
from django_dyncron.repositories.orm import DjangoCronJobRepository

HERE = __name__
URL = "redis://localhost:6379/0"


class TwoMethodLocks(ILockProvider):
    """A lock provider of the project's own."""

    def __init__(self, server: str, using: str = "nothing", retries: int = 3) -> None:
        self.given = (server, using, retries)

    async def acquire_lock(self, lock_key: str, ttl_seconds: int) -> bool:
        return True

    async def release_lock(self, lock_key: str) -> None: ...


class OwnQueue(ITaskEnqueuer):
    """An enqueuer of the project's own, which takes any option."""

    def __init__(self, **options: Any) -> None:
        if "raises" in options:
            raise OSError("no such broker")
        self.options = options

    async def enqueue_task(self, task_name: str, payload: dict[str, Any], queue: str) -> None: ...


class OwnStore(ICronJobRepository):
    """A repository of the project's own, which takes no option."""

    async def get_active_jobs(self) -> list[Any]:
        return []

    async def update_last_run(self, job_id: str, run_time: Any) -> None: ...


class HalfALock(ILockProvider):
    async def acquire_lock(self, lock_key: str, ttl_seconds: int) -> bool:
        return True


@pytest.fixture
def _postgres_alias() -> Any:
    """A PostgreSQL alias that nothing connects to."""
    from tests.databases import database_alias as known_for_a_while

    with known_for_a_while("pg", "postgresql://nobody@127.0.0.1:9/nothing"):
        yield


def lock_provider(value: Any, **others: Any) -> ILockProvider | None:
    with override_settings(DYNCRON={"LOCK_PROVIDER": value, **others}):
        return load_lock_provider(get_settings())


def lock_error(value: Any, **others: Any) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        lock_provider(value, **others)
    return caught.value


# --- lock providers ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value, expected",
    [
        ("memory", MemoryLockProvider),
        (URL, RedisLockProvider),
        ("rediss://localhost:6379/0", RedisLockProvider),
        ("unix:///run/redis.sock", RedisLockProvider),
        ("valkey://localhost:6379/0", RedisLockProvider),
        ("django_dyncron.locks.memory.MemoryLockProvider", MemoryLockProvider),
        ({"BACKEND": "memory"}, MemoryLockProvider),
        ({"BACKEND": "redis", "OPTIONS": {"url": URL}}, RedisLockProvider),
        ({"BACKEND": URL, "OPTIONS": {"timeout_seconds": 1.0}}, RedisLockProvider),
    ],
)
def test_every_way_to_name_a_lock_provider(value: Any, expected: type) -> None:
    assert type(lock_provider(value)) is expected


@pytest.mark.parametrize("value", ["none", {"BACKEND": "none"}])
def test_none_is_no_lock_provider(value: Any) -> None:
    assert lock_provider(value) is None


@pytest.mark.usefixtures("_postgres_alias")
@pytest.mark.parametrize("value", [None, "database", {"BACKEND": "database"}])
def test_the_database_provides_locks_by_default(value: Any) -> None:
    assert type(lock_provider(value, DATABASE="pg")) is PostgresLockProvider
    assert lock_provider(value, DATABASE="pg")._using == "pg"  # type: ignore[union-attr]


@pytest.mark.usefixtures("_postgres_alias")
def test_sqlite_provides_locks_too() -> None:
    from tests.databases import database_alias as known_for_a_while

    with known_for_a_while("file", "sqlite:///:memory:"):
        assert type(lock_provider(None, DATABASE="file")) is SqliteLockProvider
        by_option = {"BACKEND": "database", "OPTIONS": {"using": "file"}}
        assert type(lock_provider(by_option, DATABASE="pg")) is SqliteLockProvider
        error = lock_error("postgres", DATABASE="file")
    assert error.problem == 'is "postgres", but the database "file" is sqlite.'
    assert error.hint == 'Use "database".'


@pytest.mark.usefixtures("_postgres_alias")
def test_other_databases_have_none_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django_dyncron.conf.locks.database_vendor", lambda alias: "mysql")
    assert lock_provider(None, DATABASE="pg") is None
    error = lock_error("database", DATABASE="pg")
    assert error.problem == 'is "database", which the database "pg" (mysql) does not support.'


def test_a_class_of_one_s_own_gets_its_options_and_the_alias() -> None:
    value = {"BACKEND": f"{HERE}.TwoMethodLocks", "OPTIONS": {"server": "a", "retries": 5}}
    provider = lock_provider(value)
    assert isinstance(provider, TwoMethodLocks)
    assert provider.given == ("a", "default", 5)


@pytest.mark.parametrize(
    "value, path, words",
    [
        ("redi", "", "is 'redi', no lock provider. Did you mean \"redis\"?"),
        ("redsi://:secret@x/0", "", 'is a URL of scheme "redsi", which is not known. Did you mean'),
        ("nowhere.Locks", "", "is 'nowhere.Locks', which cannot be imported: No module named"),
        ("django_dyncron.locks.Locks", "", "which cannot be imported: "),
        (f"{HERE}.OwnQueue", "", "not a class of ILockProvider."),
        (f"{HERE}.URL", "", "not a class of ILockProvider."),
        (f"{HERE}.HalfALock", "", "which lacks release_lock."),
        (
            {"BACKEND": "redis", "OPTIONS": {"ur": URL}},
            '["OPTIONS"]["ur"]',
            'is not an option of RedisLockProvider. Did you mean "url"?',
        ),
        (
            {"BACKEND": "memory", "OPTIONS": {"size": 1}},
            '["OPTIONS"]["size"]',
            "is not an option of MemoryLockProvider.",
        ),
        (
            {"BACKEND": f"{HERE}.TwoMethodLocks", "OPTIONS": {"retries": 1}},
            '["OPTIONS"]',
            "missing a required argument: 'server'",
        ),
        (
            {"BACKEND": "redis", "OPTIONS": {"url": URL, "timeout_seconds": -1}},
            '["OPTIONS"]',
            "timeout_seconds must be above 0",
        ),
        (
            {"BACKEND": "database", "OPTIONS": {"using": "defalt"}},
            '["OPTIONS"]["using"]',
            'is "defalt", which DATABASES does not have. Did you mean "default"?',
        ),
    ],
)
def test_a_wrong_lock_provider_is_an_error_at_its_place(value: Any, path: str, words: str) -> None:
    error = lock_error(value)
    assert error.path == 'DYNCRON["LOCK_PROVIDER"]' + path
    assert words in str(error)
    assert "secret" not in str(error)


def cache(backend: str) -> dict[str, Any]:
    return {"default": {"BACKEND": backend, "LOCATION": URL}}


def test_bare_redis_is_the_server_of_the_default_cache() -> None:
    with override_settings(CACHES=cache("django_redis.cache.RedisCache")):
        assert type(lock_provider("redis")) is RedisLockProvider


@pytest.mark.parametrize(
    "backend",
    [
        "django.core.cache.backends.locmem.LocMemCache",
        "django.core.cache.backends.redis.RedisCache",
        "nowhere.Cache",
    ],
)
def test_bare_redis_needs_a_django_redis_cache(backend: str) -> None:
    with override_settings(CACHES=cache(backend)):
        error = lock_error("redis")
    assert error.problem.startswith('is "redis", but CACHES["default"] is not a django-redis cache')
    assert "redis://localhost:6379/0" in error.hint


# --- client libraries -------------------------------------------------------------------------


def test_a_missing_client_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "django_dyncron.locks.redis")
    for name in [name for name in sys.modules if name == "redis" or name.startswith("redis.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "redis", None)
    error = lock_error(URL)
    assert isinstance(error, MissingClient)
    assert str(error) == (
        'DYNCRON["LOCK_PROVIDER"] needs the Python package "redis", which is not installed. '
        'Install it with: pip install "django-dyncron[redis]"'
    )


# --- enqueuers --------------------------------------------------------------------------------


def enqueuers(**settings: Any) -> dict[str, ITaskEnqueuer]:
    with override_settings(DYNCRON=settings):
        return load_enqueuers(get_settings())


def test_the_local_enqueuer_is_the_default() -> None:
    assert [type(each) for each in enqueuers().values()] == [LocalTaskEnqueuer]
    assert list(enqueuers()) == ["default"]


def test_several_enqueuers_by_name() -> None:
    loaded = enqueuers(
        ENQUEUER={"BACKEND": f"{HERE}.OwnQueue", "OPTIONS": {"broker": "a"}},
        ENQUEUERS={"here": "local", "there": f"{HERE}.OwnQueue"},
    )
    assert list(loaded) == ["default", "here", "there"]
    assert loaded["default"].options == {"broker": "a"}  # type: ignore[attr-defined]
    assert isinstance(loaded["here"], LocalTaskEnqueuer)
    assert isinstance(loaded["there"], OwnQueue)


@override_settings(DYNCRON={"ENQUEUERS": {"default": f"{HERE}.OwnQueue", "here": "local"}})
def test_the_default_may_stand_among_the_others() -> None:
    settings = get_settings()
    assert list(load_enqueuers(settings)) == ["default", "here"]
    assert isinstance(load_enqueuer("", settings), OwnQueue)
    assert isinstance(load_enqueuer("default", settings), OwnQueue)
    assert isinstance(load_enqueuer("here", settings), LocalTaskEnqueuer)


@pytest.mark.parametrize(
    "settings, path, words",
    [
        ({"ENQUEUER": "loca"}, '["ENQUEUER"]', "is 'loca', no enqueuer. Did you mean \"local\"?"),
        (
            {"ENQUEUER": "local", "ENQUEUERS": {"default": "local"}},
            '["ENQUEUERS"]["default"]',
            "and ENQUEUER both set the default enqueuer. Remove one of them.",
        ),
        (
            {"ENQUEUERS": {"mail": {"BACKEND": "local", "OPTIONS": {"max_worker": 1}}}},
            '["ENQUEUERS"]["mail"]["OPTIONS"]["max_worker"]',
            'is not an option of LocalTaskEnqueuer. Did you mean "max_workers"?',
        ),
        (
            {"ENQUEUER": {"BACKEND": "local", "OPTIONS": {"max_workers": 0}}},
            '["ENQUEUER"]["OPTIONS"]',
            "max_workers must be a whole number above 0, not 0.",
        ),
        (
            {"ENQUEUER": {"BACKEND": f"{HERE}.OwnQueue", "OPTIONS": {"raises": 1}}},
            '["ENQUEUER"]["OPTIONS"]',
            "no such broker",
        ),
        ({"ENQUEUER": f"{HERE}.OwnStore"}, '["ENQUEUER"]', "not a class of ITaskEnqueuer."),
        (
            {"ENQUEUER": {"BACKEND": "django_tasks", "OPTIONS": {"backend": "defalt"}}},
            '["ENQUEUER"]["OPTIONS"]',
            "TASKS has no backend 'defalt': choose one of default.",
        ),
    ],
)
def test_a_wrong_enqueuer_is_an_error_at_its_place(
    settings: dict[str, Any], path: str, words: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        enqueuers(**settings)
    assert caught.value.path == f"DYNCRON{path}"
    assert words in str(caught.value)


@override_settings(DYNCRON={"ENQUEUERS": {"mail": "local"}})
def test_a_name_that_is_not_configured_is_an_error() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_enqueuer("mial", get_settings())
    assert str(caught.value) == 'DYNCRON["ENQUEUERS"]["mial"] is not there. Did you mean "mail"?'


# --- repository and database ------------------------------------------------------------------


def test_the_repository_works_on_the_alias_of_the_tables() -> None:
    from tests.databases import database_alias as known_for_a_while

    dyncron = {"DATABASE": "other"}
    with known_for_a_while("other", "sqlite:///:memory:"), override_settings(DYNCRON=dyncron):
        repository = load_repository(get_settings())
    assert isinstance(repository, DjangoCronJobRepository)
    assert repository.using == "other"


@override_settings(DYNCRON={"REPOSITORY": f"{HERE}.OwnStore"})
def test_a_repository_of_one_s_own() -> None:
    assert isinstance(load_repository(get_settings()), OwnStore)


@override_settings(DYNCRON={"REPOSITORY": f"{HERE}.OwnStores"})
def test_a_repository_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="does not define") as caught:
        load_repository(get_settings())
    assert caught.value.path == 'DYNCRON["REPOSITORY"]'


class ToPg:
    def db_for_write(self, model: type, **hints: Any) -> str | None:
        return "pg" if model._meta.model_name == "cronjob" else None


def test_the_router_chooses_the_database_unless_it_is_set() -> None:
    assert database_alias(get_settings()) == "default"
    with override_settings(DATABASE_ROUTERS=[f"{HERE}.ToPg"]):
        assert database_alias(get_settings()) == "pg"
    with override_settings(DATABASE_ROUTERS=[f"{HERE}.ToPg"], DYNCRON={"DATABASE": "default"}):
        assert database_alias(get_settings()) == "default"


@override_settings(DYNCRON={"DATABASE": "defualt"})
def test_a_database_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ConfigurationError) as caught:
        database_alias(get_settings())
    assert str(caught.value) == (
        'DYNCRON["DATABASE"] is "defualt", which DATABASES does not have. Did you mean "default"?'
    )
