"""List the tables of databases, and read them whole or in ranges of a key."""
