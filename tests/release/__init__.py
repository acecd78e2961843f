"""What is released, looked at from outside: see ``.ci/wheel``."""
