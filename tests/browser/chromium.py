"""Chromium, from the system's packages: no browser is downloaded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")
# A quiet one: nothing is sent anywhere but to the site of the test.
_FLAGS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run a headless Chromium within the block; ``CHROMIUM`` names another executable.

    Raises :class:`FileNotFoundError` if there is none.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_executable(), args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def _executable() -> str:
    named = os.environ.get("CHROMIUM")
    for found in (named,) if named else map(shutil.which, _NAMES):
        if found:
            return found
    raise FileNotFoundError(
        "Chromium is needed: install the package chromium, or name the executable in CHROMIUM."
    )
