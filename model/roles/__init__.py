"""Find the columns that act as foreign keys: those that refer to a key."""
