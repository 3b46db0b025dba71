"""Runs checks: one, many, or one check by two engines."""
