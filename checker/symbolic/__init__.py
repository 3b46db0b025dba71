"""Expresses models as formulas, for bounded search and induction with Z3."""
