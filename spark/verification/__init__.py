"""Verifies pairs of columns on all their rows."""
