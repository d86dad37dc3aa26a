"""Signals that two columns join: shared values, similar cells and names, catalog evidence."""
