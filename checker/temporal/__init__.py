"""Properties of behaviours: automata of formulas, fairness, lassos, verdicts."""
