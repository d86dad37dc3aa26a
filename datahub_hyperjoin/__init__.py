"""Finds which columns of a data lake join with which, and tells DataHub."""

__all__ = ["__version__"]

__version__ = "0.1.0"
