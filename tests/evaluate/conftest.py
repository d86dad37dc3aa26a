"""Set up labelled lakes."""

from lakes.labelled import labelled_lake, make_runs

__all__ = ["labelled_lake", "make_runs"]
