"""Small changes that weaken a spec."""
