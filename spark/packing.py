"""Divide tables of different sizes into Spark tasks of similar duration."""

import heapq
from collections import defaultdict
from collections.abc import Sequence

from datahub_hyperjoin.locations import Database, database_of
from datahub_hyperjoin.tables import Table

_TASK_BYTES = 1 << 24
_MIN_TASKS = 8
_OPENING_BYTES = 1 << 13
"""Cost of opening a table, expressed as bytes read."""


def pack(tables: Sequence[Table]) -> list[list[int]]:
    """Group tables into Spark tasks of similar duration.

    The largest table first, each into the group that is lightest so far (Graham, "Bounds on
    multiprocessing timing anomalies", 1969). Files are packed into groups of about 16 MiB. A
    database gets at most as many groups as it may have connections, because each task opens one.

    Args:
        tables: The tables to group.

    Returns:
        Indices of tables, group by group, the heaviest group first. No group is empty.
    """
    by_database: dict[Database | None, list[int]] = defaultdict(list)
    for index, table in enumerate(tables):
        by_database[database_of(table.location)].append(index)
    # Opening a file costs time even if it is empty, so thousands of tiny tables need several tasks.
    weights = [table.size + _OPENING_BYTES for table in tables]
    groups: list[list[int]] = []
    for database, members in by_database.items():
        needed = max(_MIN_TASKS, sum(weights[index] for index in members) // _TASK_BYTES)
        groups += _balance(members, weights, most=database.max_connections if database else needed)
    # Spark starts tasks in this order, and the longest one should not start last.
    return sorted(groups, key=lambda group: -sum(weights[index] for index in group))


def _balance(members: Sequence[int], weights: Sequence[int], *, most: int) -> list[list[int]]:
    lightest: list[tuple[int, int, list[int]]]
    lightest = [(0, group, []) for group in range(min(len(members), most))]
    for index in sorted(members, key=lambda index: -weights[index]):
        weight, group, packed = lightest[0]
        packed.append(index)
        heapq.heapreplace(lightest, (weight + weights[index], group, packed))
    return [packed for _, _, packed in lightest]
