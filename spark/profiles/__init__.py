"""Profile tables, and store the profiles for later runs."""
