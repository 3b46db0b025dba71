"""Random runs of a model."""
