"""Mutation of specs: small changes that weaken a spec."""
