"""Verifies pairs of columns on all rows of their tables."""
