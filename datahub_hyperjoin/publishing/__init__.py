"""Decide what a run writes to the catalog, what stays, and what is withdrawn."""
