"""The native engine: breadth-first search in machine code."""
