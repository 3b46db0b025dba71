"""Exports models as TLA+ modules that TLC can run."""
