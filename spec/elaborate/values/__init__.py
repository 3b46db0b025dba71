"""Elaborates all forms of expressions, calls, roles, channels and temporal formulas."""
