"""The hypergraph of a lake's columns, and the join graph from which it is built."""
