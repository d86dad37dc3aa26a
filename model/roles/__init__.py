"""Find which columns of a lake refer to which keys, as foreign keys do."""
