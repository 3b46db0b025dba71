"""Traces: representation, reading, writing and explanation."""
