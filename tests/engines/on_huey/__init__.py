"""Huey on Redis, configured by djhuey."""
