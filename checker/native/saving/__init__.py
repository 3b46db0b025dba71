"""Saving and restoring a search."""
