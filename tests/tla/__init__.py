"""What TLC finds in exported modules."""
