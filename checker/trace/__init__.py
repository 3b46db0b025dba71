"""Represents, reads, writes and explains traces."""
