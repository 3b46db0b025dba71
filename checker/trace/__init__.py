"""Traces: how one is held in memory, read, written, and explained."""
