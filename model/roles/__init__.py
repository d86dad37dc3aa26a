"""Find columns that refer to keys, as foreign keys do."""
