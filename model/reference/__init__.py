"""Recognise columns of standard codes or names, such as country codes."""
