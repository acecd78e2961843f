"""The shop of the pictures, and of the tutorial."""
