"""Types for the values of TLA+ variables, inferred from values and from what a module stores."""
