"""Behaviours: formulas as automata, fairness, lassos, and what comes of them."""
