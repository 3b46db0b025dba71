"""Checks all values of a symbolic constant at once, using regions of values that lead to the same
behaviour.
"""
