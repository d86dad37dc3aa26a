"""Estimate what the rest of a run costs, and stop the run if it cannot fit into memory."""

from datahub_hyperjoin.budget.check import check_budget

__all__ = ["check_budget"]
