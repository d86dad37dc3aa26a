"""Find composite references, in which several columns together refer to a key."""
