"""All values of a symbolic constant in one check, by regions of values that behave alike."""
