"""Mutants of the native engine: how much the tests that compare it with the interpreter notice."""
