"""Models as formulas: bounded search and induction with Z3."""
