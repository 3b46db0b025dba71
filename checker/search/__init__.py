"""Shared by all searches: account, limits, interrupts, trace reconstruction."""
