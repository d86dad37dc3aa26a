"""Recognise columns of standard codes or names, such as those of countries."""
