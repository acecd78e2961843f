"""Django Tasks by way of RQ: django-tasks-rq, with the worker of django-rq."""
