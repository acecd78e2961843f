"""An app whose tasks the tests run by name. It is not installed unless a test installs it."""
