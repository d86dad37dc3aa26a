"""Profiles of tables, whichever way they are read, and the store that keeps them."""
