"""Machine code shared by all models."""
