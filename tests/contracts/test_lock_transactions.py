"""What lock providers over a database table promise about transactions."""

from __future__ import annotations

import threading

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import transaction

from django_dyncron.core.exceptions import LockError
from tests.contracts.lock_sites import IN_A_TABLE, Site, at_each


@at_each(IN_A_TABLE)
async def test_an_open_transaction_is_an_error_not_a_lock(lock_site: Site) -> None:
    provider, other = lock_site.provider(), lock_site.provider()

    def ask() -> None:
        with transaction.atomic(using=lock_site.alias):
            with pytest.raises(LockError, match='transaction is open on the database "'):
                async_to_sync(provider.acquire_lock)("dyncron:a", 60)
            with pytest.raises(LockError, match="transaction is open"):
                async_to_sync(provider.release_lock)("dyncron:a")
            with pytest.raises(LockError, match="transaction is open"):
                async_to_sync(provider.setup)()

    await sync_to_async(ask)()

    assert await other.acquire_lock("dyncron:a", 60) is True


@at_each(IN_A_TABLE)
async def test_a_transaction_left_to_the_caller_is_an_error(lock_site: Site) -> None:
    provider = lock_site.provider()

    def ask() -> None:
        transaction.set_autocommit(False, using=lock_site.alias)
        try:
            with pytest.raises(LockError, match="transaction is open"):
                async_to_sync(provider.acquire_lock)("dyncron:a", 60)
        finally:
            transaction.rollback(using=lock_site.alias)
            transaction.set_autocommit(True, using=lock_site.alias)

    await sync_to_async(ask)()

    assert await provider.acquire_lock("dyncron:a", 60) is True


@at_each(IN_A_TABLE)
async def test_a_claim_asks_from_within_its_transaction(lock_site: Site) -> None:
    provider, other = lock_site.provider(), lock_site.provider()
    await other.acquire_lock("dyncron:b", 60)
    within = provider.within_claims()

    def claim() -> tuple[set[str], bool]:
        with transaction.atomic(using=lock_site.alias):
            before = threading.get_ident()
            taken = async_to_sync(within.acquire_locks)(["dyncron:a", "dyncron:b"], 60)
            return taken, before == threading.get_ident()

    assert await sync_to_async(claim)() == ({"dyncron:a"}, True)

    assert await other.acquire_lock("dyncron:a", 60) is False
    await within.release_locks(["dyncron:a", "dyncron:b"])
    assert await other.acquire_locks(["dyncron:a", "dyncron:b"], 60) == {"dyncron:a"}
    await within.aclose()


@at_each(IN_A_TABLE)
async def test_a_missing_table_says_what_to_run(lock_site: Site) -> None:
    provider = type(lock_site.provider())(using=lock_site.alias, table_name="nowhere")
    lock_site.opened.append(provider)

    with pytest.raises(LockError, match=r"\"nowhere\" is missing .* `manage.py migrate`, or"):
        await provider.acquire_lock("dyncron:a", 60)

    await provider.setup()
    assert await provider.acquire_lock("dyncron:a", 60) is True
