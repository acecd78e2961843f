"""Lock providers, one technology a module; the settings reach them by name or dotted path."""
