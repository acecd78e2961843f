"""Procrastinate in the database of the cron jobs, with its worker."""
