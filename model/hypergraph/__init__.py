"""Columns as vertices, and the hyperedges within and across tables (paper, section 4.1)."""
