#!/usr/bin/env python
"""The command line of the sample project."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    # The package of this checkout, installed or not.
    sys.path.insert(1, str(Path(__file__).resolve().parent.parent))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
