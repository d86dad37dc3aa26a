"""Verify probable joins on all rows of the tables."""
