"""Access through Spark to Spark catalogs, remote file systems and parts of large files."""
