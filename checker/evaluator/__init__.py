"""The engine ``evaluator``, which searches the states of TLA+ modules."""
