"""List the tables of a lake, profile them with Spark, and verify joins between them."""
