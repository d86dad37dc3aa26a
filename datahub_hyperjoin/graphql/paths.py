"""Find the best path of joins between two tables, and avoid many-to-many paths.

Joining along a path gives rows of a *grain* if some table on it is repeated nowhere. That is so if
the path first leads only from keys to the rows that refer to them and then only from rows to the
keys that they refer to. A path that does the reverse, such as drugs → person → visits, pairs all
drugs of a person with all visits: it is many-to-many, like a join of two columns that repeat.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from datahub_hyperjoin.graphql.errors import NoPathError
from datahub_hyperjoin.graphql.joins import CatalogJoin, best_first
from datahub_hyperjoin.graphql.steps import JoinPath, Step, count_losses, leads_from_key, strength
from datahub_hyperjoin.joins import Role
from datahub_hyperjoin.tables import TableId

_Chain = tuple[CatalogJoin, ...]
_Neighbours = Mapping[TableId, Sequence[CatalogJoin]]

_State = tuple[TableId, bool]
"""The last table of a chain, and whether the chain already led from a row to a key."""

_Cost = tuple[int, int, int, float, int]

_DISTANCES = {Role.REFERENCE: 0, Role.ONE_TO_ONE: 0, Role.SIBLING: 1, Role.SAME_DOMAIN: 2}
"""How far a join of each role is from a reference."""


def find_path(
    joins: Iterable[CatalogJoin],
    start: TableId,
    end: TableId,
    *,
    most: int | None = None,
    many_to_many: bool = False,
) -> JoinPath:
    """Find the best path of joins between two tables.

    Of all paths with a grain, those along references are best; of these, those with the fewest
    joins that multiply rows; then the most reliable; then the shortest. Of several joins of the
    same two tables, the same order selects one.

    Args:
        joins: All joins of the catalog; rejected and hidden ones are ignored.
        start: The first table.
        end: The last table.
        most: Maximum number of joins; None for no limit.
        many_to_many: Whether a path without a grain is returned if there is none with a grain.

    Returns:
        The path, with other references that a person might mean.

    Raises:
        NoPathError: No path connects the tables, or none with a grain.
    """
    neighbours = _neighbours(joins)
    chain = _search(neighbours, start, end, most=most, many_to_many=False)
    if not chain:
        chain = _search(neighbours, start, end, most=most, many_to_many=True)
        if not chain:
            raise NoPathError.between(start.name, end.name, most=most)
        if not many_to_many:
            via = [join.right.table.name for join in chain[:-1]]
            raise NoPathError.without_grain(start.name, end.name, via=via, most=most)
    return JoinPath(
        steps=tuple(Step(join=join, alternatives=_alternatives(join, neighbours)) for join in chain)
    )


def _neighbours(joins: Iterable[CatalogJoin]) -> _Neighbours:
    """Return the joins of each table, with that table on the left."""
    by_table: defaultdict[TableId, list[CatalogJoin]] = defaultdict(list)
    usable = (join for join in joins if join.open and join.left.table != join.right.table)
    # Sorted, so that of equal chains the same one is chosen in every run.
    for join in best_first(usable):
        for directed in (join, join.reversed):
            by_table[directed.left.table].append(directed)
    return by_table


def _alternatives(join: CatalogJoin, neighbours: _Neighbours) -> tuple[CatalogJoin, ...]:
    """Return the other references that connect the tables of a join in the same direction.

    Joins that people confirmed count as references. A join of another kind has no alternatives.
    """
    return tuple(
        other
        for other in neighbours[join.left.table]
        if other.right.table == join.right.table
        and other.urn != join.urn
        and other.is_reference
        and join.is_reference
        and other.to_one is join.to_one
    )


def _search(
    neighbours: _Neighbours, start: TableId, end: TableId, *, most: int | None, many_to_many: bool
) -> _Chain:
    """Return the cheapest chain of joins between two tables; empty if there is none.

    After round n, `best` holds the cheapest chain of at most n joins to each state, as in the
    algorithm of Bellman and Ford. Unlike Dijkstra's, it respects a limit on the number of joins. A
    join never makes a chain cheaper, so no cheapest chain visits a table twice and the rounds end.
    """
    best: dict[_State, _Chain] = {(start, False): ()}
    frontier = dict(best)
    hops = 0
    while frontier and (most is None or hops < most):
        frontier = _extend(frontier, best, neighbours, many_to_many=many_to_many)
        best |= frontier
        hops += 1
    chains = [chain for (table, _), chain in best.items() if table == end != start]
    return min(chains, key=_cost, default=())


def _extend(
    frontier: Mapping[_State, _Chain],
    best: Mapping[_State, _Chain],
    neighbours: _Neighbours,
    *,
    many_to_many: bool,
) -> dict[_State, _Chain]:
    """Extend chains by one join, and return the extended chains that cost less than known ones."""
    reached: dict[_State, _Chain] = {}
    for (table, climbed), chain in sorted(frontier.items(), key=lambda item: item[0]):
        for join in neighbours.get(table, ()):
            longer = (*chain, join)
            if not many_to_many and count_losses(longer):
                continue
            state = (join.right.table, climbed or leads_from_key(join.reversed))
            known = reached.get(state, best.get(state))
            if known is None or _cost(longer) < _cost(known):
                reached[state] = longer
    return reached


def _cost(chain: _Chain) -> _Cost:
    """Return the sort key of a chain; the smallest is the best."""
    return (
        count_losses(chain),
        sum(0 if join.is_confirmed else _DISTANCES[join.likely_role] for join in chain),
        sum(join.multiplies for join in chain),
        -strength(chain),
        len(chain),
    )
