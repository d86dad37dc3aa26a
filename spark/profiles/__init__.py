"""Profiles of tables on every route of reading, and the store that keeps them."""
