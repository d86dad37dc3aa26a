"""Decide which columns refer to which keys, for the whole lake together, and in which role."""
