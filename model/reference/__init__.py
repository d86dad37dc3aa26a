"""Recognise columns with standard codes or names, such as those of countries."""
