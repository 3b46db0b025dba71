"""Machine code generation from the core."""
