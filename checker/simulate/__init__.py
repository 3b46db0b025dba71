"""Performs random runs of a model."""
