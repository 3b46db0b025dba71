"""Checks all values of a symbolic constant at once, by regions of values with the same
behaviour.
"""
