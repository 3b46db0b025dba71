"""The visited set of a worker."""
