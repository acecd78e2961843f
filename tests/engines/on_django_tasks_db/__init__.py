"""Django Tasks in the database of the cron jobs, by django-tasks-db and its worker."""
