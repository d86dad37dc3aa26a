"""Find the columns that act as foreign keys because they refer to a key."""
