"""Signals that two columns join, such as shared values, similar names and catalog evidence."""
