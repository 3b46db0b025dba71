"""The concrete syntax: text to surface tree, its errors, and the formatter."""
