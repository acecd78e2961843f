"""The admin in a real browser: what people type, press, read and hear."""
