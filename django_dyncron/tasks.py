"""What the workers of this project's queues import: hooks, and the tasks that run background tasks.

Most queues look for a ``tasks`` module in each installed app when their worker starts. What is
needed there depends on which queues the settings name; of no other is anything imported.
"""

from __future__ import annotations

from .conf import get_settings, load_worker_modules

load_worker_modules(get_settings())
