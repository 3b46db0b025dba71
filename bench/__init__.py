"""Measurements: Fencepost beside SPIN, TLC and other versions of itself on the same model, and what
decides how fast a search is.

Not part of the package; run by hand from a checkout, with ``python -m bench``.
"""
