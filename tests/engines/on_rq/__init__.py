"""RQ by way of django-rq."""
