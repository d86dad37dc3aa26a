"""Estimate the cost of the stages after profiling, and stop a run that needs too much memory."""

from datahub_hyperjoin.budget.check import check_budget

__all__ = ["check_budget"]
