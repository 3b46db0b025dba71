"""Statements, assignments, initial states, channel faults and fairness."""
