"""Dramatiq without django-dramatiq, on a broker that is not the global one."""
