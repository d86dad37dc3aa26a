"""Estimate what the rest of a run costs, and stop it early if it cannot fit into memory."""

from datahub_hyperjoin.budget.check import check_budget

__all__ = ["check_budget"]
