"""Reads recordings of real systems and decides whether a model allows them."""
