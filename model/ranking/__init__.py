"""Rank the columns that may join with a given column (paper, section 5)."""
