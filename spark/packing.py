"""Packs many tables of unequal size into few tasks of equal size."""

import heapq
from collections import defaultdict
from collections.abc import Sequence

from datahub_hyperjoin.locations import Database, Relation
from datahub_hyperjoin.tables import Table

_TASK = 1 << 24
_FEWEST = 8
_OPENING = 1 << 13


def pack(tables: Sequence[Table]) -> list[list[int]]:
    """Groups tables so that no task waits long for another.

    The largest table first, each into the group that is lightest so far (Graham, "Bounds on
    multiprocessing timing anomalies", 1969). There are enough groups of files for each to be 16
    MiB; of a database there are as many as it may have connections, since each task has one.

    Args:
        tables: What to group.

    Returns:
        The places of the tables, group by group, the heaviest group first; no group is empty.
    """
    apart: dict[Database | None, list[int]] = defaultdict(list)
    for at, table in enumerate(tables):
        apart[table.place.database if isinstance(table.place, Relation) else None].append(at)
    weights = [table.size + _OPENING for table in tables]
    groups: list[list[int]] = []
    for database, members in apart.items():
        enough = max(_FEWEST, sum(weights[at] for at in members) // _TASK)
        groups += _balance(members, weights, most=database.max_connections if database else enough)
    return sorted(groups, key=lambda group: -sum(weights[at] for at in group))


def _balance(members: Sequence[int], weights: Sequence[int], *, most: int) -> list[list[int]]:
    lightest: list[tuple[int, int, list[int]]]
    lightest = [(0, group, []) for group in range(min(len(members), most))]
    for at in sorted(members, key=lambda at: -weights[at]):
        weight, group, held = heapq.heappop(lightest)
        heapq.heappush(lightest, (weight + weights[at], group, [*held, at]))
    return [held for _, _, held in lightest]
