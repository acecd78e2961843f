"""An app whose tasks are task objects of ``django.tasks``. Not installed unless a test does so."""
