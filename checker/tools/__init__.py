"""Tools on a model other than a check: explore, replay, graph, mutate, doctor."""
