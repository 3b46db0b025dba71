"""Runs checks: a single check, many checks, or one check with two engines."""
