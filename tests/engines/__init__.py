"""Real queues for the tests: one package ``on_<name>`` each, with settings, tasks and an engine."""
