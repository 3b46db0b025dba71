"""The reference interpreter. Its results define the results of all other engines."""
