"""Machine code from the core."""
