"""Recognise columns that hold standard codes or names of entities, such as countries."""
