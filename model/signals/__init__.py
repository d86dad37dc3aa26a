"""Measures of how likely two columns join, such as shared values or similar names."""
