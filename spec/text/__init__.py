"""Sources of specs, and problems in them."""
