"""Find joinable columns in a data lake and write them into DataHub."""

__all__ = ["__version__"]

__version__ = "0.1.0"
