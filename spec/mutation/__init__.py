"""Mutation of specs: small changes that weaken them."""
