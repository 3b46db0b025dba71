"""The TLA+ front end: reads and evaluates TLA+ modules. Knows nothing of search."""
