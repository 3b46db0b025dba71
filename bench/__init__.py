"""Measurements: comparisons of Fencepost with SPIN, TLC and other versions of itself on the same
models, and measurements of the factors that decide the speed of a search.

Not part of the package; run by hand from a checkout, with ``python -m bench``.
"""
