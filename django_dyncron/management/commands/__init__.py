"""One command, one file: arguments, signals and output."""
