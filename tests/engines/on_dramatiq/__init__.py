"""Dramatiq by way of django-dramatiq."""
