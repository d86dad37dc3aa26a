"""Correct what `sqlglot` translates to something else than a stand-in's dialect means."""

from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

Corrections = Mapping[type[exp.Expr], Callable[[Any], exp.Expr]]
"""Functions that replace a part of a statement, by the kind of the part."""


def corrected(tree: exp.Expr, corrections: Corrections) -> exp.Expr:
    """Return a statement with all corrections, of which the innermost come first."""
    copied = tree.copy()
    for node in reversed([*copied.dfs()]):
        if correct := corrections.get(type(node)):
            node.replace(correct(node))
    return copied
