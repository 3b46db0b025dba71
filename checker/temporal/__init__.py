"""Checks properties of behaviours: automata of formulas, fairness, lassos and verdicts."""
