"""Set up a small dataset."""

from lakes.schooling import database, lake, repository

__all__ = ["database", "lake", "repository"]
