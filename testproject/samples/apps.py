"""The app with the sample tasks."""

from __future__ import annotations

from django.apps import AppConfig


class SamplesConfig(AppConfig):
    name = "samples"
