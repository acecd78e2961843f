"""Enqueuers: one queue system, one file. They are reached by dotted path only."""

from __future__ import annotations
