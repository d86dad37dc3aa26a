"""Build the join graph and the hypergraph of a lake."""
