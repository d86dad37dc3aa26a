"""Find the best path of joins between two tables, with as few repeated rows as possible."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod

from typing_extensions import assert_never

from datahub_hyperjoin.joins.describe import describe_grain, join_in_brief
from datahub_hyperjoin.joins.errors import NoPathError
from datahub_hyperjoin.joins.join import Join, rename_columns
from datahub_hyperjoin.joins.path_search import (
    Neighbours,
    ReadJoins,
    reader_of,
    search_chain,
    search_rivals,
)
from datahub_hyperjoin.joins.safety import (
    count_grain_losses,
    grain_of,
    is_safe,
    strength,
)
from datahub_hyperjoin.tables import ColumnId, TableId
from datahub_hyperjoin.visible import visible
from datahub_hyperjoin.wording import join_with_and

MIN_JOINABILITY = 0.5
"""Default minimum of the probability that all joins of a path are right."""

_MOST_DIRECT = 3
"""Maximum number of direct joins that are named beside a path or an error."""

_MOST_RIVALS = 3
"""Maximum number of rivals that are named beside a path."""

PathEnd = TableId | ColumnId
"""The start or end of a path: a table, or a column that the first or last join must compare."""

_Joins = tuple[Join, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One join of a path, with alternative joins between the same two tables.

    The path reaches the left table first.
    """

    join: Join

    alternatives: tuple[Join, ...] = ()
    """Other references between the same tables, such as `approved_by` beside `created_by`. They
    give other rows, so a person has to choose."""

    @property
    def multiplies_by(self) -> float | None:
        """Mean number of right rows for each left row; None if unknown."""
        return self.join.matches


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class JoinPath:
    """A path of joins between two tables."""

    steps: tuple[Step, ...]

    direct: tuple[Join, ...] = ()
    """The best joins between the first and the last table of a path of several joins. The path
    avoids these joins because they follow no keys, or because nobody confirmed them."""

    rivals: tuple["JoinPath", ...] = ()
    """Other paths of as many joins over other tables, the best first and up to three. They give
    other rows, so a person has to choose."""

    def __str__(self) -> str:
        lines = [join.arrows for join in self.joins]
        sentences = [self.grain_in_words, *self.rivals_in_words]
        return "\n".join([*lines, *map(visible, sentences)])

    def __repr__(self) -> str:
        return f"<JoinPath: {', '.join(join.arrows for join in self.joins)}>"

    @property
    def all_joins(self) -> tuple[Join, ...]:
        """All joins that the path names, also those that it does not use."""
        own = (join for step in self.steps for join in (step.join, *step.alternatives))
        return (*own, *self.direct, *(join for rival in self.rivals for join in rival.all_joins))

    def renamed(self, name: Callable[[ColumnId], ColumnId]) -> "JoinPath":
        """Return the path with renamed columns."""

        def each(joins: Sequence[Join]) -> tuple[Join, ...]:
            return tuple(rename_columns(join, name) for join in joins)

        steps = (each([it.join, *it.alternatives]) for it in self.steps)
        return JoinPath(
            steps=tuple(Step(join=join, alternatives=tuple(others)) for join, *others in steps),
            direct=each(self.direct),
            rivals=tuple(rival.renamed(name) for rival in self.rivals),
        )

    @property
    def joins(self) -> tuple[Join, ...]:
        """The joins in order, each with the table on the left that the path reaches first."""
        return tuple(step.join for step in self.steps)

    @property
    def tables(self) -> tuple[TableId, ...]:
        """The tables of the path, in order."""
        return (self.joins[0].left.table, *(join.right.table for join in self.joins))

    @property
    def strength(self) -> float:
        """The product of the strengths of the path's joins, in [0, 1]."""
        return strength(self.joins)

    @property
    def grain(self) -> TableId | None:
        """The table whose rows do not repeat in the result of the path; None if no table qualifies.

        A key with a few duplicates may still repeat some of its rows: see `keeps_grain`.
        """
        return grain_of(self.joins)

    @property
    def keeps_grain(self) -> bool:
        """Whether each row of the `grain` table appears at most once in the joined result.

        Sums over columns of that table are then right.
        """
        return grain_of(self.joins, exact=True) is not None

    @property
    def is_safe(self) -> bool:
        """Whether an agent may use the path: no row of the grain repeats, and no join is doubtful.

        `datahub_hyperjoin.joins.is_safe` has the rule.
        """
        return is_safe(*self.joins)

    @property
    def grain_in_words(self) -> str:
        """A sentence that tells people which table's rows do not repeat in the result."""
        words = describe_grain(self.joins)
        return f"{words[0].upper()}{words[1:]}"

    @property
    def rivals_in_words(self) -> tuple[str, ...]:
        """Sentences that tell people which other paths are as short, and how their rows differ."""
        return tuple(
            f"Another path of {len(rival.joins)} joins gives other rows: {rival.arrows}. "
            f"{self.difference_in_words(rival)}"
            for rival in self.rivals
        )

    def difference_in_words(self, rival: "JoinPath") -> str:
        """Tell people how the rows of another path between the same tables differ from these."""
        own, other = self.tables[1:-1], rival.tables[1:-1]
        # Of the tables on the way, those that both paths have do not tell them apart.
        apart = (
            [table for table in own if table not in other],
            [table for table in other if table not in own],
        )
        ways = apart if all(apart) else (own, other)
        left, right = (join_with_and([table.name for table in way]) for way in ways)
        return f"{rival.grain_in_words}, by way of {right} instead of {left}"

    @property
    def arrows(self) -> str:
        """The joins of the path in one line, as in `a.b → b.id, then b.c → c.id`."""
        return ", then ".join(join.arrows for join in self.joins)

    @property
    def multiplies_by(self) -> float | None:
        """Mean number of result rows for each row of the first table; None if unknown.

        It assumes that rows with many matches in one join have average numbers in the next one.
        """
        factors = [step.multiplies_by for step in self.steps]
        known = [factor for factor in factors if factor is not None]
        return prod(known) if len(known) == len(factors) else None


def table_of(end: PathEnd) -> TableId:
    """Return the table at an end of a path."""
    match end:
        case TableId():
            return end
        case ColumnId():
            return end.table
        case _:
            assert_never(end)


def fits_end(join: Join, end: PathEnd) -> bool:
    """Return whether a path with the given first or last table, or column, may use a join."""
    # At the table of a named column, only joins over this column fit. A path visits its end once,
    # so the other joins of that table are of no use elsewhere either.
    table = table_of(end)
    return table == end or table not in join.tables or any(end in pair for pair in join.pairs)


def find_path(
    joins: Iterable[Join],
    start: PathEnd,
    end: PathEnd,
    *,
    most: int | None = None,
    many_to_many: bool = False,
    min_joinability: float = MIN_JOINABILITY,
) -> JoinPath:
    """Find the best path of at most `most` joins from one table to another, as `walk` does.

    Args:
        joins: All joins of the catalog; rejected and hidden ones are ignored.
        start: The first table, or a column of it that the first join must compare.
        end: The last table, or a column of it that the last join must compare.
        most: Maximum number of joins; None for no limit.
        many_to_many: Whether a path without a grain is returned if there is none with a grain.
        min_joinability: Lowest joinability of all joins of the path together.

    Returns:
        The path.

    Raises:
        NoPathError: No path connects the tables, none has a grain, or the best one is improbable.
    """
    return walk(
        reader_of(joins),
        start,
        end,
        most=most,
        many_to_many=many_to_many,
        min_joinability=min_joinability,
    )


def walk(
    read: ReadJoins,
    start: PathEnd,
    end: PathEnd,
    *,
    most: int | None = None,
    many_to_many: bool = False,
    min_joinability: float = MIN_JOINABILITY,
) -> JoinPath:
    """Find the best path of at most `most` joins from one table to another.

    Joins are read of the tables alone that better paths might lead through.

    Of all paths with a grain, those along references are best; of these, those with the fewest
    joins that multiply rows; then those with the fewest joins that nobody confirmed; then the
    shortest; then the most reliable. So a reference between the two tables precedes a detour of
    better references, which relates the rows of other tables. Of several joins of the same two
    tables, the same order selects one.

    Args:
        read: Reads the joins of some tables; rejected and hidden ones are ignored.
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
    neighbours = Neighbours(
        lambda tables: (
            join for join in read(tables) if fits_end(join, start) and fits_end(join, end)
        )
    )
    ends = table_of(start), table_of(end)
    direct = tuple(join for join in neighbours.of(ends[0]) if join.right.table == ends[1])
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
    # One join leads through no other tables.
    rivals = search_rivals(neighbours, chain, most=_MOST_RIVALS) if len(chain) > 1 else []
    return JoinPath(
        steps=_steps(chain, neighbours),
        direct=shown if len(chain) > 1 else (),
        rivals=tuple(
            JoinPath(steps=_steps(rival, neighbours))
            for rival in rivals
            if strength(rival) >= min_joinability
        ),
    )


def _steps(chain: _Joins, neighbours: Neighbours) -> tuple[Step, ...]:
    return tuple(Step(join=join, alternatives=_alternatives(join, neighbours)) for join in chain)


def _no_path(
    ends: tuple[PathEnd, PathEnd], chain: _Joins, direct: _Joins, *, most: int | None
) -> NoPathError:
    """Build the error for two ends whose best path, if there is one, is not safe."""
    start, end = map(str, ends)
    if not chain:
        by_column = any(table_of(each) != each for each in ends)
        return NoPathError.between(start, end, most=most, by_column=by_column)
    via = [join.right.table.name for join in chain[:-1]]
    beside = [*map(join_in_brief, direct)]
    return NoPathError.without_grain(start, end, via=via, most=most, direct=beside)


def _ambiguous_references(direct: _Joins) -> _Joins:
    """From the direct joins of two tables, select the references that may be many-to-many."""
    # Such a reference may repeat rows of both tables, since its key may have duplicates. Whoever
    # asks for a path between these tables means such a reference. A detour around it would give
    # other rows, so there is no safe path.
    return tuple(join for join in direct if join.is_reference and count_grain_losses([join]))


def _alternatives(join: Join, neighbours: Neighbours) -> _Joins:
    """Return the alternatives to a join: other references between the same tables."""
    # They may lead in the opposite direction, as `departments.manager` beside
    # `employees.department`. Joins that people confirmed count as references. A join of another
    # kind has no alternatives, and one that may be many-to-many is none.
    return tuple(
        other
        for other in neighbours.of(join.left.table)
        if other.right.table == join.right.table
        and (other.urn, other.pairs) != (join.urn, join.pairs)
        and other.is_reference
        and join.is_reference
        and not count_grain_losses([other])
    )
