"""Access to data that only Spark reaches: its catalogs, other file systems, parts of files."""
