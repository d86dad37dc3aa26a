"""Set up a small dataset."""

from schooling import database, lake, repository

__all__ = ["database", "lake", "repository"]
