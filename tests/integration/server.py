"""An ASGI application for a real server: the admin of the tests, with a scheduler beside it."""

from __future__ import annotations

from django.core.asgi import get_asgi_application

from django_dyncron.asgi import SchedulerLifespan

application = SchedulerLifespan(get_asgi_application())
