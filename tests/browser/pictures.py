"""Takes the pictures of the documentation anew: ``python -m tests.browser.pictures``.

Each page as wide as a desktop and as a phone, light and dark, into ``docs/images``.
"""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Page

from .chromium import chromium

_HERE = Path(__file__).resolve().parent
_IMAGES = _HERE.parents[1] / "docs" / "images"
_DEVICES = {
    "desktop": {"width": 1280, "height": 720, "tallest": 1340},
    "phone": {"width": 390, "height": 720, "tallest": 1850},
}
_SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
_LARGEST_BYTES = 150_000
# Of the pages of the admin, the pictures are about one.
_FOLD_THE_SIDEBAR = "localStorage.setItem('django.admin.navSidebarIsOpen', 'false')"
_JOBS = "/admin/django_dyncron/cronjob/"


def _list(page: Page) -> None:
    page.goto(_JOBS)


def _form(page: Page) -> None:
    """The job of the tutorial, as it is being typed, at an hour that clock changes fall into."""
    page.goto(f"{_JOBS}add/")
    for label, value in {
        "Job id:": "open-orders",
        "Description:": "What the managers read over breakfast.",
        "Task:": "shop.tasks.report_open_orders",
        "Payload:": '{"limit": 20}',
        "Cron expression:": "30 2 * * sun",
        "Time zone:": "Europe/Berlin",
    }.items():
        page.get_by_label(label, exact=True).fill(value)
    page.get_by_role("table", name="Next runs").wait_for()
    page.get_by_text("report_open_orders(limit").first.wait_for()
    page.get_by_text("At 02:30, on Sunday").first.wait_for()


def _runs(page: Page) -> None:
    page.goto("/admin/django_dyncron/cronrun/")


def _overview(page: Page) -> None:
    page.goto(f"{_JOBS}overview/")


def _pause(page: Page) -> None:
    page.goto(_JOBS)
    row = page.get_by_role("row").filter(has_text="sync-stock")
    row.get_by_role("checkbox").check()
    page.get_by_label("Action:").select_option("pause_jobs")
    page.get_by_role("button", name=re.compile("^(Go|Run)$")).click()
    page.get_by_label("Reason:").fill("Counting stock until noon.")


_PAGES: dict[str, Callable[[Page], None]] = {
    "list": _list,
    "form": _form,
    "runs": _runs,
    "overview": _overview,
    "pause": _pause,
}


def _take(site: str, session: str, wanted: list[str]) -> None:
    with chromium() as browser:
        for (device, size), scheme in product(_DEVICES.items(), _SCHEMES):
            context = browser.new_context(
                base_url=site, color_scheme=scheme, timezone_id="Europe/Berlin"
            )
            context.add_cookies([{"name": "sessionid", "value": session, "url": site}])
            context.add_init_script(_FOLD_THE_SIDEBAR)
            page = context.new_page()
            for name in wanted:
                page.set_viewport_size({"width": size["width"], "height": size["height"]})
                _PAGES[name](page)
                _keep(_picture(page, **size), f"{name}-{device}-{scheme}.png")
            context.close()


def _picture(page: Page, width: int, height: int, tallest: int) -> bytes:
    """Return a PNG as high as what is on the page, within bounds."""
    # Neither a cursor nor a ring around a field, wherever the focus happens to be.
    page.evaluate("document.activeElement.blur()")
    content = page.evaluate("document.querySelector('#content').getBoundingClientRect().bottom")
    shown = min(max(height, round(content)), tallest)
    page.set_viewport_size({"width": width, "height": shown})
    page.evaluate("window.scrollTo(0, 0); document.querySelector('#main').scrollTo(0, 0)")
    return page.screenshot(animations="disabled")


def _keep(picture: bytes, name: str) -> None:
    """Write it with a palette of its own, by which it is a third as large."""
    file = _IMAGES / name
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(128, dither=Image.Dither.NONE).save(file, optimize=True)
    size = file.stat().st_size
    print(f"{file.name:<28} {image.width} × {image.height}  {size / 1000:5.1f} kB")  # noqa: T201
    if size > _LARGEST_BYTES:
        raise SystemExit(f"{file.name} is larger than {_LARGEST_BYTES} bytes")


@contextmanager
def _shop() -> Iterator[tuple[str, str]]:
    """Serve the admin of a shop with some history; give its address and an operator's session."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
        os.environ["DYNCRON_TEST_DATABASE_URL"] = f"sqlite:///{folder}/pictures.sqlite3"
        sys.path.insert(0, str(_HERE / "samples"))
        import django
        from django.conf import settings

        settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "shop"]
        django.setup()

        from django.contrib.auth.models import User
        from django.core.management import call_command
        from django.test import Client
        from pytest_django.live_server_helper import LiveServer

        from . import picture_rows

        call_command("migrate", verbosity=0)
        picture_rows.insert()
        operator = Client()
        operator.force_login(User.objects.create_superuser("ann"))
        server = LiveServer("127.0.0.1")
        try:
            yield server.url, operator.cookies["sessionid"].value
        finally:
            server.stop()


if __name__ == "__main__":
    with _shop() as (site, session):
        _take(site, session, sys.argv[1:] or list(_PAGES))
