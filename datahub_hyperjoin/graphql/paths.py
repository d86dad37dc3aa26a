"""Chains of joins from one table to another."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import prod

from datahub_hyperjoin.graphql.errors import NoPathError
from datahub_hyperjoin.graphql.joins import CatalogJoin, mirror
from datahub_hyperjoin.tables import TableId

Path = tuple[CatalogJoin, ...]
Neighbours = Mapping[TableId, Mapping[TableId, CatalogJoin]]

_DIGITS = 12
"""Products that agree so far differ only by the order of their factors."""


def strength(path: Path) -> float:
    """How far a chain of joins can be relied on: the product over its joins.

    Args:
        path: The joins, in order.
    """
    return round(prod(join.strength for join in path), _DIGITS)


def find_path(
    joins: Iterable[CatalogJoin], start: TableId, end: TableId, *, most: int | None = None
) -> Path:
    """The chain of joins that can be relied on most; of equally good ones the shortest.

    Args:
        joins: All that the catalog holds; those that were rejected or hidden are left out.
        start: Where the chain begins.
        end: Where it ends.
        most: How many joins it may have; None for any number.

    Returns:
        The joins in order, each with the table it comes from on the left.

    Raises:
        NoPathError: No chain leads there.
    """
    neighbours = _neighbours(joins)
    best: dict[TableId, Path] = {start: ()}
    frontier = dict(best)
    hops = 0
    # Each round finds the best chains with one join more, so that a limit can be kept.
    while frontier and (most is None or hops < most):
        frontier = _step(frontier, best, neighbours)
        best |= frontier
        hops += 1
    if not best.get(end):
        raise NoPathError.between(start.name, end.name, most=most)
    return best[end]


def _step(
    frontier: Mapping[TableId, Path], best: Mapping[TableId, Path], neighbours: Neighbours
) -> dict[TableId, Path]:
    """The tables that one join more reaches better than any shorter chain does."""
    reached: dict[TableId, Path] = {}
    for table, path in sorted(frontier.items(), key=lambda item: item[0]):
        for other, join in neighbours.get(table, {}).items():
            longer = (*path, join)
            known = reached.get(other, best.get(other))
            if known is None or strength(longer) > strength(known):
                reached[other] = longer
    return reached


def _neighbours(joins: Iterable[CatalogJoin]) -> Neighbours:
    """The best join between each two tables, from both sides."""
    found: defaultdict[TableId, dict[TableId, CatalogJoin]] = defaultdict(dict)
    usable = (join for join in joins if join.open and join.left.table != join.right.table)
    for join in sorted(usable, key=lambda join: (-join.strength, join.urn)):
        for way in (join, mirror(join)):
            found[way.left.table].setdefault(way.right.table, way)
    return {table: dict(sorted(others.items())) for table, others in found.items()}
