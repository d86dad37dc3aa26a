"""List and read the tables of databases."""
