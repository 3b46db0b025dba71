"""Models as TLA+ modules that TLC runs."""
