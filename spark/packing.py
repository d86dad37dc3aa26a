"""Divide tables of different sizes into Spark tasks of similar duration."""

import heapq
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TypeVar

from datahub_hyperjoin.locations import Database, database_of
from datahub_hyperjoin.tables import Table

_Item = TypeVar("_Item")

_TASK_BYTES = 1 << 24
_MIN_TASKS = 8
_OPENING_BYTES = 1 << 13
"""Cost of opening a table, expressed as bytes read."""


def pack(items: Sequence[_Item], table_of: Callable[[_Item], Table]) -> list[list[_Item]]:
    """Group what is read of tables into Spark tasks of similar duration.

    The largest table first, each into the group that is lightest so far (Graham, "Bounds on
    multiprocessing timing anomalies", 1969). Files are packed into groups of about 16 MiB. A
    database gets at most as many groups as it may have connections, because each task opens one.

    Returns:
        The items, group by group, the heaviest group first. No group is empty.
    """
    by_database: dict[Database | None, list[tuple[int, _Item]]] = defaultdict(list)
    for item in items:
        table = table_of(item)
        # Opening a file takes time even if it is empty, so thousands of tiny tables need several
        # tasks.
        weighed = table.size + _OPENING_BYTES, item
        by_database[database_of(table.location)].append(weighed)
    groups: list[tuple[int, list[_Item]]] = []
    for database, members in by_database.items():
        needed = max(_MIN_TASKS, sum(weight for weight, _ in members) // _TASK_BYTES)
        groups += _balance(members, most=database.max_connections if database else needed)
    # Spark starts tasks in this order, and the longest one should not start last.
    return [group for _, group in sorted(groups, key=lambda group: -group[0])]


def _balance(members: Sequence[tuple[int, _Item]], *, most: int) -> list[tuple[int, list[_Item]]]:
    """Divide weighed items into at most `most` groups, each with its total weight."""
    lightest: list[tuple[int, int, list[_Item]]]
    lightest = [(0, number, []) for number in range(min(len(members), most))]
    for weight, item in sorted(members, key=lambda member: -member[0]):
        total, number, group = lightest[0]
        group.append(item)
        heapq.heapreplace(lightest, (total + weight, number, group))
    return [(total, group) for total, _, group in lightest]
