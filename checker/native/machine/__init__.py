"""Compiled code, memory, and the context that a worker shares with machine code."""
