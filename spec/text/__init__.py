"""Texts of specs: where they are, and what can be said about them."""
