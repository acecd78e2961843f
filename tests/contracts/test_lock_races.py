"""What every lock provider promises to threads and processes that want the same locks."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import threading
from collections.abc import Callable

from django_dyncron.core.ports import ILockProvider
from tests.contracts.lock_sites import BETWEEN_PROCESSES, EVERY, Site, at_each


@at_each(EVERY)
async def test_eight_threads_count_together_and_lose_nothing(lock_site: Site) -> None:
    count = 0

    async def increment(provider: ILockProvider) -> None:
        nonlocal count
        for _ in range(100):
            while not await provider.acquire_lock("dyncron:count", 60):  # noqa: ASYNC110
                await asyncio.sleep(random.uniform(0, 0.01))
            seen = count
            await asyncio.sleep(0)
            count = seen + 1
            await provider.release_lock("dyncron:count")

    threads = [threading.Thread(target=lock_site.work, args=[increment]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)

    assert count == 800


_RIVAL = """
import asyncio, json, sys
import django
django.setup()
from django.utils.module_loading import import_string

async def main():
    path, options = json.loads(sys.argv[1])
    provider = import_string(path)(**options)
    keys = [f"dyncron:{number}" for number in range(400)]
    print("ready", flush=True)
    sys.stdin.readline()
    taken = set()
    for start in range(0, 400, 4):
        taken |= await provider.acquire_locks(keys[start:start + 4], 60)
        taken |= {keys[start]} if await provider.acquire_lock(keys[start], 60) else set()
    await provider.aclose()
    print(json.dumps(sorted(taken)))

asyncio.run(main())
"""


@at_each(BETWEEN_PROCESSES)
async def test_two_processes_share_the_keys_out(
    lock_site: Site, process_environment: Callable[[str], dict[str, str]]
) -> None:
    environment = process_environment(lock_site.database_url or "sqlite:///:memory:")

    taken = await asyncio.to_thread(_race, json.dumps(lock_site.recipe), environment)

    assert taken[0] | taken[1] == {f"dyncron:{number}" for number in range(400)}
    assert taken[0] & taken[1] == set()


def _race(recipe: str, environment: dict[str, str]) -> list[set[str]]:
    """Start two processes, let them go when both are ready, and return what each has taken."""
    rivals = [
        subprocess.Popen(
            [sys.executable, "-c", _RIVAL, recipe],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for rival in rivals:
        assert rival.stdout is not None
        assert rival.stdout.readline() == "ready\n"
    for rival in rivals:
        assert rival.stdin is not None
        rival.stdin.write("go\n")
        rival.stdin.flush()
    return [set(json.loads(rival.communicate()[0])) for rival in rivals]
