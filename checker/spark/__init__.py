"""The engine `spark`: the search in machine code, spread over the partitions of RDDs."""
