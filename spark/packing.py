"""Packs many tables of unequal size into few tasks of equal size."""

import heapq
from collections.abc import Sequence

from datahub_hyperjoin.tables import Table

_TASK = 1 << 24
_FEWEST = 8
_OPENING = 1 << 16


def pack(tables: Sequence[Table]) -> list[list[int]]:
    """Groups tables so that no task waits long for another.

    The largest table first, each into the group that is lightest so far (Graham, "Bounds on
    multiprocessing timing anomalies", 1969). There are enough groups for each to be 16 MiB.

    Args:
        tables: What to group.

    Returns:
        The places of the tables, group by group, the heaviest group first; no group is empty.
    """
    weights = [table.size + _OPENING for table in tables]
    groups = min(len(tables), max(_FEWEST, sum(weights) // _TASK))
    lightest: list[tuple[int, int, list[int]]] = [(0, group, []) for group in range(groups)]
    for place in sorted(range(len(tables)), key=lambda place: -weights[place]):
        weight, group, members = heapq.heappop(lightest)
        heapq.heappush(lightest, (weight + weights[place], group, [*members, place]))
    return [members for _, _, members in sorted(lightest, key=lambda entry: -entry[0])]
