"""Checks: one, many, and two engines against each other."""
