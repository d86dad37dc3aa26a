"""Build the hypergraph of a lake's columns from the join graph."""
