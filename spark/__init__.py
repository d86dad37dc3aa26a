"""List the tables of a lake, profile the columns with Spark, and verify joins."""
