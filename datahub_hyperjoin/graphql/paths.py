"""Find the best path of joins between two tables.

Many-to-many paths are avoided.

Joining along a path gives rows of a *grain* if some table on it is repeated nowhere. That is so if
the path first leads only from keys to the rows that refer to them and then only from rows to the
keys that they refer to. A path that does the reverse, such as drugs → person → visits, pairs all
drugs of a person with all visits: it is many-to-many, like a join of two columns that repeat.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from datahub_hyperjoin.graphql.errors import NoPathError
from datahub_hyperjoin.graphql.joins import CatalogJoin, best_first
from datahub_hyperjoin.graphql.path_search import search_chain
from datahub_hyperjoin.graphql.steps import JoinPath, Step, count_grain_losses, strength
from datahub_hyperjoin.tables import TableId

MIN_JOINABILITY = 0.5
"""Joinability of all joins of a path together below which it is more probably wrong than right."""

_Chain = tuple[CatalogJoin, ...]
_Neighbours = Mapping[TableId, Sequence[CatalogJoin]]


def find_path(
    joins: Iterable[CatalogJoin],
    start: TableId,
    end: TableId,
    *,
    most: int | None = None,
    many_to_many: bool = False,
    min_joinability: float = MIN_JOINABILITY,
) -> JoinPath:
    """Find the best path of at most `most` joins from one table to another.

    Of all paths with a grain, those along references are best; of these, those with the fewest
    joins that multiply rows; then those with the fewest joins that nobody confirmed; then the
    shortest; then the most reliable. So a reference between the two tables precedes a detour of
    better references, which relates the rows of other tables. Of several joins of the same two
    tables, the same order selects one.

    Args:
        joins: All joins of the catalog; rejected and hidden ones are ignored.
        start: The first table.
        end: The last table.
        most: Maximum number of joins; None for no limit.
        many_to_many: Whether a path without a grain is returned if there is none with a grain.
        min_joinability: Lowest joinability of all joins of the path together. Many joins that are
            probably right make a path that is probably wrong.

    Returns:
        The path, with other references that a person might mean.

    Raises:
        NoPathError: No path connects the tables, none has a grain, or the best one is improbable.
    """
    neighbours = _neighbours(joins)
    chain = search_chain(neighbours, start, end, most=most, many_to_many=False)
    ambiguous = _ambiguous_references(neighbours, start, end)
    if not chain or (ambiguous and len(chain) > 1):
        # Searched even if it may not be returned, because the error names its tables.
        wide = search_chain(neighbours, start, end, most=most, many_to_many=True)
        chain = ambiguous[:1] or wide
        if not chain:
            raise NoPathError.between(start.name, end.name, most=most)
        if not many_to_many:
            via = [join.right.table.name for join in chain[:-1]]
            raise NoPathError.without_grain(start.name, end.name, via=via, most=most)
    if strength(chain) < min_joinability:
        raise NoPathError.improbable(start.name, end.name, joins=len(chain), of=strength(chain))
    return JoinPath(
        steps=tuple(Step(join=join, alternatives=_alternatives(join, neighbours)) for join in chain)
    )


def _neighbours(joins: Iterable[CatalogJoin]) -> _Neighbours:
    """Map each table to its joins, with that table on the left."""
    by_table: defaultdict[TableId, list[CatalogJoin]] = defaultdict(list)
    usable = (join for join in joins if join.open and join.left.table != join.right.table)
    # Sorted, so that of equal chains the same one is chosen in every run.
    for join in best_first(usable):
        for directed in (join, join.reversed):
            by_table[directed.left.table].append(directed)
    return by_table


def _ambiguous_references(neighbours: _Neighbours, start: TableId, end: TableId) -> _Chain:
    """Return the references between two tables that may be many-to-many, best first.

    Such a reference may repeat rows of both tables, since its key may have duplicates. Whoever asks
    for a path between these tables means such a reference. A detour around it would give other
    rows, so there is no safe path.
    """
    return tuple(
        join
        for join in neighbours.get(start, ())
        if join.right.table == end and join.is_reference and count_grain_losses([join])
    )


def _alternatives(join: CatalogJoin, neighbours: _Neighbours) -> tuple[CatalogJoin, ...]:
    """Return the alternatives to a join: other references between the same tables.

    They may lead in the opposite direction, as `departments.manager` beside `employees.department`.
    Joins that people confirmed count as references. A join of another kind has no alternatives, and
    one that may be many-to-many is none.
    """
    return tuple(
        other
        for other in neighbours[join.left.table]
        if other.right.table == join.right.table
        and other.urn != join.urn
        and other.is_reference
        and join.is_reference
        and not count_grain_losses([other])
    )
