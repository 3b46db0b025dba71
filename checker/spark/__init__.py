"""The engine `spark`: the compiled search over the partitions of RDDs."""
