"""The engine `spark`: the compiled search, distributed over the partitions of RDDs."""
