"""Sources of specs, and the problems found in them."""
