"""The states that a worker has seen."""
