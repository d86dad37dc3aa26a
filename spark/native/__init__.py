"""Read Spark catalogs, remote files and large files through Spark."""
