"""Explain why a pair of columns is suggested as a join, or why not."""

from datahub_hyperjoin.explain.pairs import (
    ColumnExplanation,
    PairExplanation,
    explain_column,
    explain_pair,
    find_profile,
    split_column_name,
)
from datahub_hyperjoin.explain.words import as_record, describe_column, describe_pair

__all__ = [
    "ColumnExplanation",
    "PairExplanation",
    "as_record",
    "describe_column",
    "describe_pair",
    "explain_column",
    "explain_pair",
    "find_profile",
    "split_column_name",
]
