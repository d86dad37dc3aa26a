"""Find the best path of joins between two tables."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import prod

from datahub_hyperjoin.graphql.errors import NoPathError
from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.tables import TableId

Path = tuple[CatalogJoin, ...]
Neighbours = Mapping[TableId, Mapping[TableId, CatalogJoin]]

_DIGITS = 12
"""Digits to which products are compared; they hide rounding that depends on the factors' order."""


def strength(path: Path) -> float:
    """Return the reliability of a path of joins: the product over its joins, in [0, 1].

    Args:
        path: The joins, in order.
    """
    return round(prod(join.strength for join in path), _DIGITS)


def find_path(
    joins: Iterable[CatalogJoin], start: TableId, end: TableId, *, most: int | None = None
) -> Path:
    """Find the most reliable path of joins between two tables, or the shortest if several tie.

    After round n, `best` holds the best chain of at most n joins to each table, as in the algorithm
    of Bellman and Ford. Unlike Dijkstra's, it respects a limit on the number of joins. A join never
    makes a chain more reliable, so no best chain visits a table twice and the rounds end.

    Args:
        joins: All joins of the catalog; rejected and hidden ones are ignored.
        start: The first table.
        end: The last table.
        most: Maximum number of joins; None for no limit.

    Returns:
        The joins in order, each with the table it starts from on the left.

    Raises:
        NoPathError: No chain connects the tables.
    """
    neighbours = _neighbours(joins)
    best: dict[TableId, Path] = {start: ()}
    frontier = dict(best)
    hops = 0
    while frontier and (most is None or hops < most):
        frontier = _extend(frontier, best, neighbours)
        best |= frontier
        hops += 1
    if not best.get(end):
        raise NoPathError.between(start.name, end.name, most=most)
    return best[end]


def _extend(
    frontier: Mapping[TableId, Path], best: Mapping[TableId, Path], neighbours: Neighbours
) -> dict[TableId, Path]:
    """Extend paths by one join; keep the best path to each table unless a shorter one is better."""
    reached: dict[TableId, Path] = {}
    for table, path in sorted(frontier.items(), key=lambda item: item[0]):
        for neighbour, join in neighbours.get(table, {}).items():
            longer = (*path, join)
            shorter = reached.get(neighbour, best.get(neighbour))
            if shorter is None or strength(longer) > strength(shorter):
                reached[neighbour] = longer
    return reached


def _neighbours(joins: Iterable[CatalogJoin]) -> Neighbours:
    """Return the best join between each pair of joined tables, in both directions."""
    best: defaultdict[TableId, dict[TableId, CatalogJoin]] = defaultdict(dict)
    usable = (join for join in joins if join.open and join.left.table != join.right.table)
    for join in sorted(usable, key=lambda join: (-join.strength, join.urn)):
        for directed in (join, join.reversed):
            best[directed.left.table].setdefault(directed.right.table, directed)
    # Sorted, so that of equal chains the same one is chosen in every run.
    return {table: dict(sorted(partners.items())) for table, partners in best.items()}
