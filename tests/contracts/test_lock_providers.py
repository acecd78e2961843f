"""What every lock provider promises, whatever it keeps its locks in."""

from __future__ import annotations

import pytest

from django_dyncron.locks.memory import MemoryLockProvider
from tests.contracts.lock_sites import BETWEEN_PROVIDERS, EVERY, Site, at_each


@at_each(EVERY)
async def test_a_held_lock_is_refused_to_the_others_and_to_its_holder(lock_site: Site) -> None:
    holder, other = lock_site.provider(), lock_site.provider()

    assert await holder.acquire_lock("dyncron:a", 60) is True
    assert await other.acquire_lock("dyncron:a", 60) is False
    assert await holder.acquire_lock("dyncron:a", 60) is False
    assert await other.acquire_lock("dyncron:b", 60) is True


@at_each(EVERY)
async def test_a_released_lock_is_free(lock_site: Site) -> None:
    holder, other = lock_site.provider(), lock_site.provider()
    await holder.acquire_lock("dyncron:a", 60)

    await holder.release_lock("dyncron:a")

    assert await other.acquire_lock("dyncron:a", 60) is True


@at_each(EVERY)
async def test_releasing_what_nobody_holds_does_nothing(lock_site: Site) -> None:
    provider = lock_site.provider()

    await provider.release_lock("dyncron:never-taken")
    await provider.release_locks([])
    await provider.acquire_lock("dyncron:a", 60)
    await provider.release_lock("dyncron:a")
    await provider.release_lock("dyncron:a")

    assert await provider.acquire_lock("dyncron:a", 60) is True


@at_each(EVERY)
async def test_a_lock_ends_with_its_time_to_live_and_not_before(lock_site: Site) -> None:
    holder, other = lock_site.provider(), lock_site.provider()
    await holder.acquire_lock("dyncron:short", 1)
    await holder.acquire_lock("dyncron:long", 60)

    assert await other.acquire_locks(["dyncron:short", "dyncron:long"], 60) == set()
    await lock_site.wait(1.05)

    assert await other.acquire_locks(["dyncron:short", "dyncron:long"], 60) == {"dyncron:short"}
    assert await holder.acquire_lock("dyncron:short", 60) is False


@at_each(BETWEEN_PROVIDERS)
async def test_the_release_of_somebody_else_does_nothing(lock_site: Site) -> None:
    holder, other = lock_site.provider(), lock_site.provider()
    await holder.acquire_locks(["dyncron:a", "dyncron:b"], 60)

    await other.release_lock("dyncron:a")
    await other.release_locks(["dyncron:a", "dyncron:b"])

    assert await other.acquire_locks(["dyncron:a", "dyncron:b"], 60) == set()


@at_each(BETWEEN_PROVIDERS)
async def test_a_release_that_comes_too_late_leaves_the_next_holder_alone(lock_site: Site) -> None:
    late, holder, other = lock_site.provider(), lock_site.provider(), lock_site.provider()
    await late.acquire_lock("dyncron:a", 1)
    await lock_site.wait(1.05)
    assert await holder.acquire_lock("dyncron:a", 60) is True

    await late.release_lock("dyncron:a")

    assert await other.acquire_lock("dyncron:a", 60) is False


async def test_memory_locks_of_two_providers_are_strangers() -> None:
    one, two = MemoryLockProvider(), MemoryLockProvider()

    assert await one.acquire_lock("dyncron:a", 60) is True
    assert await two.acquire_lock("dyncron:a", 60) is True
    await two.release_lock("dyncron:a")

    assert await one.acquire_lock("dyncron:a", 60) is False


@at_each(EVERY)
async def test_a_batch_takes_what_is_free_and_names_it(lock_site: Site) -> None:
    holder, other = lock_site.provider(), lock_site.provider()
    await holder.acquire_lock("dyncron:b", 60)

    taken = await other.acquire_locks(["dyncron:c", "dyncron:b", "dyncron:a", "dyncron:c"], 60)

    assert taken == {"dyncron:a", "dyncron:c"}
    assert await other.acquire_locks([], 60) == set()
    await other.release_locks(["dyncron:a", "dyncron:a"])
    assert await holder.acquire_locks(["dyncron:a", "dyncron:b", "dyncron:c"], 60) == {"dyncron:a"}


@at_each(EVERY)
async def test_a_batch_of_thousands(lock_site: Site) -> None:
    holder, other = lock_site.provider(), lock_site.provider()
    keys = [f"dyncron:cron_lock:job-{number}:2026-11-30T10:57:00+00:00" for number in range(2_500)]

    assert await holder.acquire_locks(keys[:1_000], 60) == set(keys[:1_000])
    assert await other.acquire_locks(keys, 60) == set(keys[1_000:])

    await holder.release_locks(keys[:1_000])
    assert await other.acquire_locks(keys, 60) == set(keys[:1_000])


@at_each(EVERY)
async def test_keys_are_taken_as_they_are(lock_site: Site) -> None:
    provider = lock_site.provider()
    keys = ["it's", 'say "x"', "100%", "%s %(ttl)s {table}", "\\ ;--", "Ünï/雪", " ", "k" * 600]

    assert await provider.acquire_locks(keys, 60) == set(keys)
    assert await provider.acquire_locks([*keys, "IT'S"], 60) == {"IT'S"}
    await provider.release_locks(keys)
    assert await provider.acquire_locks(keys, 60) == set(keys)


@at_each(EVERY)
async def test_a_time_to_live_that_makes_no_sense(lock_site: Site) -> None:
    provider = lock_site.provider()

    for ttl_seconds in (0, -1, 1.5, True, "60", None):
        with pytest.raises(ValueError, match="ttl_seconds must be a whole number, at least 1, not"):
            await provider.acquire_lock("dyncron:a", ttl_seconds)
        with pytest.raises(ValueError, match="ttl_seconds"):
            await provider.acquire_locks(["dyncron:a"], ttl_seconds)

    assert await provider.acquire_lock("dyncron:a", 1) is True


@at_each(EVERY)
async def test_a_key_that_makes_no_sense(lock_site: Site) -> None:
    provider = lock_site.provider()

    for lock_key in ("", None, 7):
        with pytest.raises(ValueError, match="lock_key must be a text that is not empty, not"):
            await provider.acquire_lock(lock_key, 60)
        with pytest.raises(ValueError, match="lock_key"):
            await provider.acquire_locks(["dyncron:a", lock_key], 60)
        with pytest.raises(ValueError, match="lock_key"):
            await provider.release_lock(lock_key)

    assert await provider.acquire_lock("dyncron:a", 60) is True


@at_each(EVERY)
async def test_the_provider_for_claims_shares_its_locks(lock_site: Site) -> None:
    provider, other = lock_site.provider(), lock_site.provider()
    within = provider.within_claims()

    assert await within.acquire_locks(["dyncron:a", "dyncron:b"], 60) == {"dyncron:a", "dyncron:b"}
    assert await other.acquire_lock("dyncron:a", 60) is False
    await provider.release_lock("dyncron:a")
    await within.release_lock("dyncron:b")

    assert await other.acquire_locks(["dyncron:a", "dyncron:b"], 60) == {"dyncron:a", "dyncron:b"}
    assert within.within_claims() is within
    await within.aclose()


@at_each(EVERY)
async def test_closing_twice_is_fine_and_ends_no_lock(lock_site: Site) -> None:
    provider, other = lock_site.provider(), lock_site.provider()
    await provider.aclose()
    await provider.acquire_lock("dyncron:a", 60)

    await provider.aclose()
    await provider.aclose()

    assert await other.acquire_lock("dyncron:a", 60) is False
