"""Models as formulas: bounded search with Z3."""
