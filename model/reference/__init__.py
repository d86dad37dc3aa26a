"""Standardised codes and names of entities, and the columns that hold them."""
