"""``manage.py`` with signs of life at a quicker pace, for tests that cannot wait for them."""

from __future__ import annotations

import sys

from django.core.management import execute_from_command_line

from django_dyncron.core import durable, upkeep

if __name__ == "__main__":
    upkeep.BEAT_SECONDS = durable.BEAT_SECONDS = float(sys.argv.pop(1))
    execute_from_command_line(sys.argv)
