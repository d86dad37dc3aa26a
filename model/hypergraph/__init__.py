"""The hypergraph over the columns of a lake, and the join graph that it is built from."""
