"""What is done with a model beside a check: explore, replay, graph, mutate, doctor."""
