"""Tools that work on a model without being checks: explore, replay, graph, mutate and doctor."""
