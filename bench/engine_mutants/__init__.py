"""Mutants of the native engine, which show how much the comparisons with the interpreter notice."""
