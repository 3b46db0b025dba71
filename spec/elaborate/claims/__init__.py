"""Modules and models as a whole, properties, refinements, scenarios and recordings."""
