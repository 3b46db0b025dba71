"""Renders reports as text and as data, with one module per format."""
