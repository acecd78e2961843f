"""An app whose declared jobs differ from release to release."""
