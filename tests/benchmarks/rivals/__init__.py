"""Rival methods from the literature, measured on the same query columns as the pipeline."""

from benchmarks.rivals.choose import RIVALS, choose_rivals

__all__ = ["RIVALS", "choose_rivals"]
