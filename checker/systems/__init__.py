"""Handles real systems: compares their recordings with a model, and sends them requests."""
