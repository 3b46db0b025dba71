"""A search that is saved: what is written down of it, and what is looked at when it is read."""
