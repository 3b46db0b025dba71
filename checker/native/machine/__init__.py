"""Compiled code, memory, and the context shared between workers and machine code."""
