"""The meaning of the core, written once, and the domain of Python values."""
