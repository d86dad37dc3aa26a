"""Rank the columns that join with a column (paper, section 5)."""
