"""What the shop has done by cron. In the pictures nothing is, so there is nothing to do."""

from __future__ import annotations

from django_dyncron import background_task


@background_task
def report_open_orders(limit: int) -> None:
    """Mail the managers the orders that have waited longest."""


@background_task(queue="imports")
def sync_stock(warehouse: str, *, full: bool = False) -> None:
    """Fetch what the warehouse has in stock."""


@background_task(queue="mail")
def send_digest(days: int) -> None:
    """Mail customers what is new."""


@background_task(queue="mail")
def send_reminders() -> None:
    """Remind customers of what they left in their carts."""


@background_task
def prune_carts(older_than_days: int = 30) -> None:
    """Delete carts that were left behind."""


@background_task
def send_invoices() -> None:
    """Send the invoices of the month."""


@background_task(queue="imports")
def fetch_exchange_rates(base: str = "EUR") -> None:
    """Fetch today's rates."""
