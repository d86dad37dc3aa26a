"""List tables, profile their columns with Spark, and verify joins."""
