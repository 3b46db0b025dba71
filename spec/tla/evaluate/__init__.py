"""The meaning of TLA+: expressions and actions as Python closures over a state."""
