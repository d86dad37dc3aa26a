"""Search chains of joins between two tables, and read the joins of the tables on the way."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from datahub_hyperjoin.joins.join import Join, Role, best_first
from datahub_hyperjoin.joins.safety import STRENGTH_DIGITS, leads_to_key, loses_grain
from datahub_hyperjoin.tables import TableId

ReadJoins = Callable[[Collection[TableId]], Iterable[Join]]
"""Reads all joins of some tables, each once."""


def reader_of(joins: Iterable[Join]) -> ReadJoins:
    """Return a function that reads known joins."""
    by_table: defaultdict[TableId, dict[int, Join]] = defaultdict(dict)
    for at, join in enumerate(joins):
        for table in join.tables:
            by_table[table][at] = join

    def read(tables: Collection[TableId]) -> Iterable[Join]:
        found: dict[int, Join] = {}
        for table in tables:
            found |= by_table.get(table, {})
        return [found[at] for at in sorted(found)]

    return read


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

    @property
    def least_counts(self) -> tuple[int, int, int, int, int]:
        """The least counts that the chain may have after one more join."""
        *others, length = self.counts
        losses, distance, multiplied, unconfirmed = others
        return losses, distance, multiplied, unconfirmed, length + 1

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


class Neighbours:
    """The joins of each table, with that table on the left, read when a search reaches the table.

    They are sorted, so that of equal chains the same one is chosen in every run.
    """

    def __init__(self, read: ReadJoins) -> None:
        self._read = read
        self._links: dict[TableId, list[_Link]] = {}

    def load(self, tables: Iterable[TableId]) -> None:
        """Read the joins of tables, of all of them at once."""
        new = {table for table in tables if table not in self._links}
        if not new:
            return
        self._links |= {table: [] for table in new}
        usable = (
            join
            for join in self._read(sorted(new))
            if join.open and join.left.table != join.right.table
        )
        for join in best_first(usable):
            for directed in (join, join.reversed):
                if directed.left.table in new:
                    self._links[directed.left.table].append(_Link.of(directed))

    def links(self, table: TableId) -> Sequence[_Link]:
        """Return the joins of a table with their costs, best first."""
        self.load([table])
        return self._links[table]

    def of(self, table: TableId) -> Iterator[Join]:
        """Yield the joins of a table, best first."""
        return (link.join for link in self.links(table))


def search_chain(
    neighbours: Neighbours, start: TableId, end: TableId, *, most: int | None, many_to_many: bool
) -> tuple[Join, ...]:
    """Find the cheapest chain of at most `most` joins from one table to another; none if equal.

    After round n, `best` holds the cheapest chain of at most n joins to each state, as in the
    algorithm of Bellman and Ford. Unlike Dijkstra's, it respects a limit on the number of joins. A
    join never makes a chain cheaper, so no cheapest chain visits a table twice and the rounds end,
    and a chain need not be extended if one more join makes it cost more than one that has arrived.
    """
    if start == end:
        return ()
    best = {(start, False): _Chain()}
    frontier = dict(best)
    hops = 0
    while frontier and (most is None or hops < most):
        frontier = _extend(frontier, best, neighbours, many_to_many=many_to_many)
        best |= frontier
        hops += 1
        arrived = _arrived(best, end)
        if arrived:
            frontier = {
                state: chain
                for state, chain in frontier.items()
                if chain.least_counts <= arrived.counts
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
    neighbours: Neighbours,
    *,
    many_to_many: bool,
) -> dict[_State, _Chain]:
    """Extend each chain by one join, and return the new chains that improve on `best`."""
    # A new chain must be cheaper than the known chain to the same state: the last table, and
    # whether the chain led from a row to a key. Without `many_to_many`, no join is added after
    # which the rows of every table may repeat.
    reached: dict[_State, _Chain] = {}
    neighbours.load(table for table, _ in frontier)
    for (table, led_to_key), chain in sorted(frontier.items(), key=lambda item: item[0]):
        for link in neighbours.links(table):
            # The chain itself has lost nothing, so only the further join can.
            if not many_to_many and link.loses_grain[led_to_key]:
                continue
            longer = chain.extended(link)
            state = (link.join.right.table, longer.led_to_key)
            known = reached.get(state, best.get(state))
            if known is None or longer.cost < known.cost:
                reached[state] = longer
    return reached


def search_rivals(
    neighbours: Neighbours, chain: Sequence[Join], *, most: int
) -> list[tuple[Join, ...]]:
    """Find other chains of as many joins between the ends of a chain, over other tables.

    A rival keeps the rows of a table if the chain does, and its joins are as near to references.
    Of several joins between two tables, it has the best one.

    After round n, `frontier` holds, for each state, the cheapest chains of n joins over different
    tables, with the chain itself one more than are wanted.
    """
    start, end = chain[0].left.table, chain[-1].right.table
    best = _Chain()
    for join in chain:
        best = best.extended(_Link.of(join))
    hops = _count_hops(neighbours, end, most=len(chain) - 1)
    frontier = {(start, False): [_Chain()]}
    for left in reversed(range(len(chain))):
        reached: dict[_State, dict[tuple[TableId, ...], _Chain]] = defaultdict(dict)
        for longer in _all_extended(frontier, neighbours, {start}):
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
    frontier: Mapping[_State, Iterable[_Chain]], neighbours: Neighbours, start: Collection[TableId]
) -> Iterator[_Chain]:
    """Yield the chains with one more join, which leads to a table that they have not visited."""
    neighbours.load(table for table, _ in frontier)
    for (table, _), chains in frontier.items():
        for chain in chains:
            visited = {*start, *chain.tables}
            for link in neighbours.links(table):
                if link.join.right.table not in visited:
                    yield chain.extended(link)


def _count_hops(neighbours: Neighbours, end: TableId, *, most: int) -> dict[TableId, int]:
    """Map each table that reaches `end` by at most `most` joins to their smallest number."""
    hops, frontier = {end: 0}, [end]
    for number in range(1, most + 1):
        neighbours.load(frontier)
        near = {join.right.table for table in frontier for join in neighbours.of(table)}
        frontier = [table for table in sorted(near) if table not in hops]
        hops |= dict.fromkeys(frontier, number)
    return hops


def _by_cost(chain: _Chain) -> tuple[_Cost, tuple[TableId, ...]]:
    return chain.cost, chain.tables
