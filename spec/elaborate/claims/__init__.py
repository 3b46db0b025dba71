"""Elaborates whole modules and models, properties, refinements, scenarios and recordings."""
