"""The reference interpreter, whose results define those of all other engines."""
