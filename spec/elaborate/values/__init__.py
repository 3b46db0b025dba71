"""Expressions of every form, calls, roles, channels and temporal formulas."""
