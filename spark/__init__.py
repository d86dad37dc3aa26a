"""List tables, profile their columns with Spark, and verify joins."""

from datahub_hyperjoin.address_space import require_address_space

require_address_space()  # before NumPy and SciPy are imported, which could hang
