"""``python -m tests.importing``: make the fixtures anew; with ``--check``, only compare them."""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"
_MADE_WITH = ("celery", "croniter", "Django", "django-celery-beat", "django-q2", "tzdata")


def main() -> int:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.importing.settings"
    import django

    django.setup()
    made = {f"{name}.{suffix}": text for name, suffix, text in _made()}
    if "--check" not in sys.argv:
        for name, text in made.items():
            (DATA / name).write_text(text)
        return 0
    stale = [name for name, text in made.items() if (DATA / name).read_text() != text]
    for name in stale:
        sys.stderr.write(f"tests/data/{name} is not what is made now: see make import-data.\n")
    return 1 if stale else 0


def _made() -> list[tuple[str, str, str]]:
    from django.core.management import call_command

    from tests.importing import beat, q2

    call_command("migrate", verbosity=0)
    beat.add_rows()
    q2.add_rows()
    return [
        ("django_celery_beat", "sql", _dump("django_celery_beat_")),
        ("django_celery_beat", "json", _json(beat.expectations())),
        ("django_q2", "sql", _dump("django_q_schedule")),
        ("django_q2", "json", _json(q2.expectations())),
    ]


def _dump(prefix: str) -> str:
    """Return the tables whose names begin so as SQL text, in the order of their names."""
    from django.db import connection

    lines = []
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name")
        for table, statement in cursor.fetchall():
            if not table.startswith(prefix):
                continue
            lines.append(f"{statement};")
            columns = [row[1] for row in cursor.execute(f'PRAGMA table_info("{table}")')]
            quoted = ", ".join(f'quote("{column}")' for column in columns)
            cursor.execute(f'SELECT {quoted} FROM "{table}" ORDER BY 1')
            lines += [f'INSERT INTO "{table}" VALUES({",".join(row)});' for row in cursor]
    return "\n".join(lines) + "\n"


def _json(expectations: object) -> str:
    versions = {name: version(name) for name in _MADE_WITH}
    return json.dumps({"versions": versions, "runs": expectations}, indent=1) + "\n"


if __name__ == "__main__":
    sys.exit(main())
