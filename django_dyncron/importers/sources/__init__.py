"""One source, one file. Files that begin with ``_`` are parts of these."""
