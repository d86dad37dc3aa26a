"""Rename the columns of joins to the catalog's field paths."""

from collections.abc import Callable
from dataclasses import replace

from datahub_hyperjoin.joins import Bridge, CrosswalkJoin, Join
from datahub_hyperjoin.tables import ColumnId


def rename_columns(join: Join, name: Callable[[ColumnId], ColumnId]) -> Join:
    """Return a copy of a join, with renamed columns."""
    return replace(
        join,
        left=name(join.left),
        right=name(join.right),
        referenced=name(join.referenced) if join.referenced else None,
        further=tuple((name(left), name(right)) for left, right in join.further),
        via=(name(join.via[0]), name(join.via[1])) if join.via else None,
    )


def rename_steps(join: CrosswalkJoin, name: Callable[[ColumnId], ColumnId]) -> CrosswalkJoin:
    """Return a copy of a join through a crosswalk, with renamed columns."""
    left, left_via, right_via, right = map(
        name, (join.left, join.bridge.left_via, join.bridge.right_via, join.right)
    )
    return replace(join, bridge=Bridge(left, left_via, right_via, right))
