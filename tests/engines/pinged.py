"""Settings of an engine, ``DYNCRON_TEST_ENGINE``, whose jobs may ping ``DYNCRON_TEST_PING_URL``."""

from __future__ import annotations

import os
from importlib import import_module

_engine = import_module(f"tests.engines.on_{os.environ['DYNCRON_TEST_ENGINE']}.settings")
globals().update({name: value for name, value in vars(_engine).items() if name.isupper()})
DYNCRON = {**_engine.DYNCRON, "PING_URLS": [os.environ["DYNCRON_TEST_PING_URL"]]}
