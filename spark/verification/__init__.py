"""Checks pairs of columns on all their rows."""
