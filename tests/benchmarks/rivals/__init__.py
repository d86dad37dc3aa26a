"""Methods of the literature, measured beside the pipeline for the same query columns."""

from benchmarks.rivals.choose import RIVALS, choose_rivals

__all__ = ["RIVALS", "choose_rivals"]
