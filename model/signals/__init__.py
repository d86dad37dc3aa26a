"""Signals that two columns join, such as shared values or similar names."""
