"""The lock table that ``migrate`` creates, in whichever database the tests run on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection, transaction
from django.utils import timezone

from django_dyncron.core.exceptions import LockError
from django_dyncron.locks.postgres import PostgresLockProvider
from django_dyncron.locks.sqlite import SqliteLockProvider
from django_dyncron.models import CronLock

PROVIDERS: dict[str, Any] = {"postgresql": PostgresLockProvider, "sqlite": SqliteLockProvider}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("within_claim", [False, True])
def test_a_lock_is_a_row_of_the_model(within_claim: bool) -> None:
    provider = PROVIDERS[connection.vendor]()
    asked = provider.within_claims() if within_claim else provider

    assert async_to_sync(asked.acquire_lock)("dyncron:a", 60) is True

    lock = CronLock.objects.get()
    assert lock.lock_key == "dyncron:a"
    assert lock.owner
    left = lock.expires_at - timezone.now()
    assert timedelta(seconds=55) < left <= timedelta(seconds=60)
    async_to_sync(asked.release_lock)("dyncron:a")
    assert not CronLock.objects.exists()
    async_to_sync(provider.aclose)()


@pytest.mark.django_db(transaction=True)
def test_a_lock_written_by_the_model_is_respected_until_it_expires() -> None:
    now = timezone.now()
    CronLock.objects.create(lock_key="held", expires_at=now + timedelta(seconds=60))
    CronLock.objects.create(lock_key="ended", expires_at=now - timedelta(milliseconds=50))
    provider = PROVIDERS[connection.vendor]()

    assert async_to_sync(provider.acquire_locks)(["held", "ended"], 60) == {"ended"}


@pytest.mark.django_db(transaction=True)
def test_setting_up_the_default_table_again_changes_nothing() -> None:
    provider = PROVIDERS[connection.vendor]()
    async_to_sync(provider.acquire_lock)("dyncron:a", 60)

    async_to_sync(provider.setup)()

    assert CronLock.objects.count() == 1


@pytest.mark.django_db
def test_inside_a_test_that_is_one_transaction_a_lock_is_an_error() -> None:
    with pytest.raises(LockError, match="transaction is open"):
        async_to_sync(PROVIDERS[connection.vendor]().acquire_lock)("dyncron:a", 60)


@pytest.mark.django_db(transaction=True)
def test_a_claim_that_is_rolled_back_leaves_no_lock_on_sqlite_and_one_on_postgresql() -> None:
    provider = PROVIDERS[connection.vendor]()
    within = provider.within_claims()

    with transaction.atomic():
        async_to_sync(within.acquire_lock)("dyncron:a", 60)
        transaction.set_rollback(True)

    assert CronLock.objects.exists() is (connection.vendor == "postgresql")
    async_to_sync(provider.aclose)()
