"""Profile tables, whichever way their rows are read, and store the profiles."""
