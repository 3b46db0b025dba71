"""The reference interpreter: the search that the other engines are held to."""
