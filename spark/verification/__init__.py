"""Verify probable joins on all rows of their tables."""
