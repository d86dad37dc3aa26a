"""What only Spark's own readers reach: its catalogs, other file systems, parts of large files."""
