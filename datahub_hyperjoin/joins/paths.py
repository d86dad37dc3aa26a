"""Find the best path of joins between two tables, with as few repeated rows as possible."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from typing_extensions import assert_never

from datahub_hyperjoin.joins.describe import describe_grain, join_in_brief
from datahub_hyperjoin.joins.errors import NoPathError
from datahub_hyperjoin.joins.join import Join, Role, best_first, rename_columns
from datahub_hyperjoin.joins.safety import (
    STRENGTH_DIGITS,
    count_grain_losses,
    grain_of,
    is_safe,
    leads_to_key,
    loses_grain,
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
_Neighbours = Mapping[TableId, Sequence[Join]]


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
    direct = tuple(join for join in neighbours.get(ends[0], ()) if join.right.table == ends[1])
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
    rivals = _search_rivals(neighbours, chain, most=_MOST_RIVALS)
    return JoinPath(
        steps=_steps(chain, neighbours),
        direct=shown if len(chain) > 1 else (),
        rivals=tuple(
            JoinPath(steps=_steps(rival, neighbours))
            for rival in rivals
            if strength(rival) >= min_joinability
        ),
    )


def _steps(chain: _Joins, neighbours: _Neighbours) -> tuple[Step, ...]:
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


def _neighbours(joins: Iterable[Join]) -> _Neighbours:
    """Map each table to its joins, with that table on the left."""
    by_table: defaultdict[TableId, list[Join]] = defaultdict(list)
    usable = (join for join in joins if join.open and join.left.table != join.right.table)
    # Sorted, so that of equal chains the same one is chosen in every run.
    for join in best_first(usable):
        for directed in (join, join.reversed):
            by_table[directed.left.table].append(directed)
    return by_table


def _ambiguous_references(direct: _Joins) -> _Joins:
    """From the direct joins of two tables, select the references that may be many-to-many."""
    # Such a reference may repeat rows of both tables, since its key may have duplicates. Whoever
    # asks for a path between these tables means such a reference. A detour around it would give
    # other rows, so there is no safe path.
    return tuple(join for join in direct if join.is_reference and count_grain_losses([join]))


def _alternatives(join: Join, neighbours: _Neighbours) -> _Joins:
    """Return the alternatives to a join: other references between the same tables."""
    # They may lead in the opposite direction, as `departments.manager` beside
    # `employees.department`. Joins that people confirmed count as references. A join of another
    # kind has no alternatives, and one that may be many-to-many is none.
    return tuple(
        other
        for other in neighbours[join.left.table]
        if other.right.table == join.right.table
        and (other.urn, other.pairs) != (join.urn, join.pairs)
        and other.is_reference
        and join.is_reference
        and not count_grain_losses([other])
    )


# What a join adds to the cost of a chain is computed once for each direction of the join, because
# the search compares many more chains than there are joins.

_DISTANCES = {Role.REFERENCE: 0, Role.ONE_TO_ONE: 0, Role.SIBLING: 1, Role.SAME_DOMAIN: 2}
"""How far a join of each role is from a reference."""

_State = tuple[TableId, bool]
"""The last table of a chain, and whether one of the chain's joins led from referring rows to a
key."""

_Cost = tuple[int, int, int, int, int, float]
"""A sort key: the best chain has the smallest cost."""


@dataclass(frozen=True, slots=True)
class _Link:
    """One direction of a join, with the cost that the join adds to a chain of joins."""

    join: Join
    leads_to_key: bool
    loses_grain: tuple[bool, bool]
    """Whether the join may make the rows of every table repeat. The first value is for a chain that
    has not yet led from a row to a key; the second value is for a chain that has."""
    distance: int

    @classmethod
    def of(cls, join: Join) -> "_Link":
        distance = 0 if join.is_confirmed else _DISTANCES[join.role]
        losses = loses_grain(join, led_to_key=False), loses_grain(join, led_to_key=True)
        return cls(join, leads_to_key(join), losses, distance)


@dataclass(frozen=True, slots=True)
class _Chain:
    """A chain of joins; each join starts at the table where the previous join ends."""

    joins: tuple[Join, ...] = ()
    led_to_key: bool = False
    """Whether any join of the chain leads from a referring column to its key."""
    counts: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)
    """Costs to minimise, the most important first.

    They are the number of joins after which the rows of every table may repeat, the sum of the
    joins' `_DISTANCES`, and the numbers of joins that multiply rows, of unconfirmed joins and of
    all joins.
    """
    strength: float = 1.0

    @property
    def tables(self) -> tuple[TableId, ...]:
        """The tables after the first one, in order."""
        return tuple(join.right.table for join in self.joins)

    @property
    def cost(self) -> _Cost:
        return (*self.counts, -round(self.strength, STRENGTH_DIGITS))

    def extended(self, link: _Link) -> "_Chain":
        """Return the chain with one more join at its end."""
        join = link.join
        losses, distance, multiplied, unconfirmed, length = self.counts
        return _Chain(
            (*self.joins, join),
            self.led_to_key or link.leads_to_key,
            (
                losses + link.loses_grain[self.led_to_key],
                distance + link.distance,
                multiplied + join.multiplies,
                unconfirmed + (not join.is_confirmed),
                length + 1,
            ),
            self.strength * join.strength,
        )


_Links = Mapping[TableId, Sequence[_Link]]


def search_chain(
    neighbours: Mapping[TableId, Iterable[Join]],
    start: TableId,
    end: TableId,
    *,
    most: int | None,
    many_to_many: bool,
) -> tuple[Join, ...]:
    """Find the cheapest chain of at most `most` joins from one table to another; none if equal.

    After round n, `best` holds the cheapest chain of at most n joins to each state, as in the
    algorithm of Bellman and Ford. Unlike Dijkstra's, it respects a limit on the number of joins. A
    join never makes a chain cheaper, so no cheapest chain visits a table twice and the rounds end,
    and a chain that costs more than one that has arrived need not be extended.
    """
    if start == end:
        return ()
    links = _links_of(neighbours)
    best = {(start, False): _Chain()}
    frontier = dict(best)
    hops = 0
    while frontier and (most is None or hops < most):
        frontier = _extend(frontier, best, links, many_to_many=many_to_many)
        best |= frontier
        hops += 1
        arrived = _arrived(best, end)
        if arrived:
            frontier = {
                state: chain for state, chain in frontier.items() if chain.cost <= arrived.cost
            }
    found = _arrived(best, end)
    return found.joins if found else ()


def _arrived(best: Mapping[_State, _Chain], end: TableId) -> _Chain | None:
    # Of equal chains, the first that arrived is chosen, so that the order of states matters.
    chains = (chain for (table, _), chain in best.items() if table == end)
    return min(chains, key=lambda chain: chain.cost, default=None)


def _extend(
    frontier: Mapping[_State, _Chain],
    best: Mapping[_State, _Chain],
    links: _Links,
    *,
    many_to_many: bool,
) -> dict[_State, _Chain]:
    """Extend each chain by one join, and return the new chains that improve on `best`."""
    # A new chain must be cheaper than the known chain to the same state: the last table, and
    # whether the chain led from a row to a key. Without `many_to_many`, no join is added after
    # which the rows of every table may repeat.
    reached: dict[_State, _Chain] = {}
    for (table, led_to_key), chain in sorted(frontier.items(), key=lambda item: item[0]):
        for link in links.get(table, ()):
            # The chain itself has lost nothing, so only the further join can.
            if not many_to_many and link.loses_grain[led_to_key]:
                continue
            longer = chain.extended(link)
            state = (link.join.right.table, longer.led_to_key)
            known = reached.get(state, best.get(state))
            if known is None or longer.cost < known.cost:
                reached[state] = longer
    return reached


def _links_of(neighbours: Mapping[TableId, Iterable[Join]]) -> _Links:
    return {table: [_Link.of(join) for join in joins] for table, joins in neighbours.items()}


def _search_rivals(
    neighbours: Mapping[TableId, Iterable[Join]], chain: Sequence[Join], *, most: int
) -> list[tuple[Join, ...]]:
    """Find other chains of as many joins between the ends of a chain, over other tables.

    A rival keeps the rows of a table if the chain does, and its joins are as near to references.
    Of several joins between two tables, it has the best one.

    After round n, `frontier` holds, for each state, the cheapest chains of n joins over different
    tables, with the chain itself one more than are wanted.
    """
    links, start, end = _links_of(neighbours), chain[0].left.table, chain[-1].right.table
    best = _Chain()
    for join in chain:
        best = best.extended(_Link.of(join))
    hops = _count_hops(links, end, most=len(chain))
    frontier = {(start, False): [_Chain()]}
    for left in reversed(range(len(chain))):
        reached: dict[_State, dict[tuple[TableId, ...], _Chain]] = defaultdict(dict)
        for longer in _all_extended(frontier, links, {start}):
            tables = longer.tables
            is_near = hops.get(tables[-1], len(chain)) <= left
            if not is_near or longer.counts[:2] > best.counts[:2]:
                continue
            known = reached[tables[-1], longer.led_to_key]
            if tables not in known or longer.cost < known[tables].cost:
                known[tables] = longer
        frontier = {
            state: sorted(chains.values(), key=_by_cost)[: most + 1]
            for state, chains in reached.items()
        }
    arrived = sorted((each for chains in frontier.values() for each in chains), key=_by_cost)
    found: dict[tuple[TableId, ...], tuple[Join, ...]] = {}
    for each in arrived:
        if each.tables != best.tables:
            found.setdefault(each.tables, each.joins)
    return [*found.values()][:most]


def _all_extended(
    frontier: Mapping[_State, Iterable[_Chain]], links: _Links, start: Collection[TableId]
) -> Iterator[_Chain]:
    """Yield the chains with one more join, which leads to a table that they have not visited."""
    for (table, _), chains in frontier.items():
        for chain in chains:
            visited = {*start, *chain.tables}
            for link in links.get(table, ()):
                if link.join.right.table not in visited:
                    yield chain.extended(link)


def _count_hops(links: _Links, end: TableId, *, most: int) -> dict[TableId, int]:
    """Map each table that reaches `end` by at most `most` joins to their smallest number."""
    hops, frontier = {end: 0}, [end]
    for number in range(1, most + 1):
        near = {link.join.right.table for table in frontier for link in links.get(table, ())}
        frontier = [table for table in sorted(near) if table not in hops]
        hops |= dict.fromkeys(frontier, number)
    return hops


def _by_cost(chain: _Chain) -> tuple[_Cost, tuple[TableId, ...]]:
    return chain.cost, chain.tables
