"""Find composite references: several columns that together refer to a key of another table."""
