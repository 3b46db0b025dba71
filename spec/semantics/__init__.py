"""The semantics of the core, and the domain of Python values."""
