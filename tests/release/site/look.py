"""Looks at the package as it is installed: imported alone, then in the admin of this project."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path


def look_at_the_facade() -> None:
    """See that the import is light, and that what was imported is what was installed."""
    import django_dyncron

    loaded = {name for name in sys.modules if name == "django" or name.startswith("django.")}
    assert not loaded, f"import django_dyncron loaded {sorted(loaded)}"
    assert str(files(django_dyncron)).startswith(sys.prefix), files(django_dyncron)
    assert version("django-dyncron") == django_dyncron.__version__


def look_at_the_admin() -> None:
    """See that templates, translations and static files are there."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
    import django

    django.setup()
    from django.contrib.auth.models import User
    from django.contrib.staticfiles import finders
    from django.test import Client

    from django_dyncron.models import CronJob

    client = Client()
    client.force_login(User.objects.create_superuser("ann"))
    job = CronJob.objects.create(job_id="report", task_name="report", cron_expression="0 7 * * 1")
    jobs = "/admin/django_dyncron/cronjob/"
    for address, words in [
        (jobs, "Montags um 07:00"),
        (f"{jobs}{job.pk}/change/", "Nachholfenster (Sekunden)"),
        (f"{jobs}overview/", "Minuten mit den meisten Läufen"),
        ("/admin/django_dyncron/cronrun/", "Läufe"),
        ("/admin/django_dyncron/replica/", "Replikate"),
    ]:
        answer = client.get(address)
        assert answer.status_code == 200, (address, answer.status_code)
        assert words in answer.content.decode(), f"{address} does not say {words!r}"
    for name in ["admin.css", "overview.css", "preview.js"]:
        assert finders.find(f"django_dyncron/{name}"), f"there is no {name}"
        assert Path("collected/django_dyncron", name).is_file(), f"{name} was not collected"


if __name__ == "__main__":
    look_at_the_facade()
    look_at_the_admin()
