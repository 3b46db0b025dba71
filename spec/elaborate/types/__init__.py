"""Type expressions, conversions between types, and checks of partial operations."""
