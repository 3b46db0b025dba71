"""Recordings of real systems, and whether a model allows them."""
