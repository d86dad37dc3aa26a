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
from datahub_hyperjoin.graphql.path_ends import PathEnd, fits_end, table_of
from datahub_hyperjoin.graphql.path_search import search_chain, search_rivals
from datahub_hyperjoin.graphql.steps import JoinPath, Step, count_grain_losses, strength
from datahub_hyperjoin.graphql.words import join_in_brief
from datahub_hyperjoin.tables import TableId

MIN_JOINABILITY = 0.5
"""Default minimum of the probability that all joins of a path are right."""

_MOST_DIRECT = 3
"""Maximum number of direct joins that are named beside a path or an error."""

_MOST_RIVALS = 3
"""Maximum number of rivals that are named beside a path."""

_Chain = tuple[CatalogJoin, ...]
_Neighbours = Mapping[TableId, Sequence[CatalogJoin]]


def find_path(
    joins: Iterable[CatalogJoin],
    start: PathEnd,
    end: PathEnd,
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
        start: The first table, or a column of it that the first join must compare.
        end: The last table, or a column of it that the last join must compare.
        most: Maximum number of joins; None for no limit.
        many_to_many: Whether a path without a grain is returned if there is none with a grain.
        min_joinability: Lowest joinability of all joins of the path together. Many joins that are
            probably right make a path that is probably wrong.

    Returns:
        The path, with other references and other paths of as many joins that a person might mean,
        and with the joins of both tables that a detour leaves out.

    Raises:
        NoPathError: No path connects the tables, none has a grain, or the best one is improbable.
    """
    neighbours = _neighbours(
        join for join in joins if fits_end(join, start) and fits_end(join, end)
    )
    ends = table_of(start), table_of(end)
    direct = _direct_joins(neighbours, *ends)
    shown = direct[:_MOST_DIRECT]
    chain = search_chain(neighbours, *ends, most=most, many_to_many=False)
    ambiguous = _ambiguous_references(direct)
    if not chain or (ambiguous and len(chain) > 1):
        # Searched even if it may not be returned, because the error names its tables.
        wide = search_chain(neighbours, *ends, most=most, many_to_many=True)
        chain = ambiguous[:1] or wide
        if not many_to_many or not chain:
            raise _no_path((start, end), chain, shown, most=most)
    if strength(chain) < min_joinability:
        raise NoPathError.improbable(
            str(start),
            str(end),
            joins=len(chain),
            of=strength(chain),
            direct=[*map(join_in_brief, shown)],
        )
    rivals = search_rivals(neighbours, chain, most=_MOST_RIVALS)
    return JoinPath(
        steps=_steps(chain, neighbours),
        direct=shown if len(chain) > 1 else (),
        rivals=tuple(
            JoinPath(steps=_steps(rival, neighbours))
            for rival in rivals
            if strength(rival) >= min_joinability
        ),
    )


def _steps(chain: _Chain, neighbours: _Neighbours) -> tuple[Step, ...]:
    return tuple(Step(join=join, alternatives=_alternatives(join, neighbours)) for join in chain)


def _no_path(
    ends: tuple[PathEnd, PathEnd], chain: _Chain, direct: _Chain, *, most: int | None
) -> NoPathError:
    """Build the error for two ends without a safe path.

    Args:
        chain: The best path, which is not safe; empty if there is none.
        direct: The best joins of the two tables with each other.
        most: Maximum number of joins; None for no limit.
    """
    start, end = map(str, ends)
    if not chain:
        by_column = any(table_of(each) != each for each in ends)
        return NoPathError.between(start, end, most=most, by_column=by_column)
    via = [join.right.table.name for join in chain[:-1]]
    beside = [*map(join_in_brief, direct)]
    return NoPathError.without_grain(start, end, via=via, most=most, direct=beside)


def _neighbours(joins: Iterable[CatalogJoin]) -> _Neighbours:
    """Map each table to its joins, with that table on the left."""
    by_table: defaultdict[TableId, list[CatalogJoin]] = defaultdict(list)
    usable = (join for join in joins if join.open and join.left.table != join.right.table)
    # Sorted, so that of equal chains the same one is chosen in every run.
    for join in best_first(usable):
        for directed in (join, join.reversed):
            by_table[directed.left.table].append(directed)
    return by_table


def _direct_joins(neighbours: _Neighbours, start: TableId, end: TableId) -> _Chain:
    """Return the joins between two tables, best first."""
    return tuple(join for join in neighbours.get(start, ()) if join.right.table == end)


def _ambiguous_references(direct: _Chain) -> _Chain:
    """From the direct joins of two tables, select the references that may be many-to-many.

    Such a reference may repeat rows of both tables, since its key may have duplicates. Whoever asks
    for a path between these tables means such a reference. A detour around it would give other
    rows, so there is no safe path.
    """
    return tuple(join for join in direct if join.is_reference and count_grain_losses([join]))


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
