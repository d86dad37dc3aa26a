"""Build the keys under which the store saves results.

A key is made of everything that a result depends on.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256

from datahub_hyperjoin import __version__
from datahub_hyperjoin.joins import Bridge
from datahub_hyperjoin.tables import Pair, Table


def result_key(tables: Sequence[Table], *parts: str) -> str:
    """Build the store key of a result that depends on several tables.

    Returns:
        A key that differs if a table has changed; empty if a table's state is unknown.
    """
    if not all(table.state for table in tables):
        return ""
    return sha256(repr([*map(table_key, tables), *parts]).encode()).hexdigest()


def table_key(table: Table, *settings: str) -> str:
    """Build the store key of results that depend on one table."""
    # The version is part of the key, because another one may compute other profiles.
    parts = [__version__, repr(table.id), repr(table.location), table.state, *settings]
    return sha256(repr(parts).encode()).hexdigest()


def pair_keys(
    pairs: Sequence[Pair], tables: Sequence[Table], ways: Mapping[Pair, str]
) -> dict[Pair, str]:
    """Return a store key for each pair, based on both tables and on how values are compared.

    Args:
        ways: How each pair is compared, if not in normal form only.

    Returns:
        Keys by pair, without pairs of a table whose state is unknown.
    """
    states = {table.id: table_key(table) for table in tables if table.state}
    keys = {}
    for pair in pairs:
        if all(column.table in states for column in pair):
            ends = [(states[column.table], column.path) for column in pair]
            keys[pair] = sha256(repr([*ends, ways.get(pair, "")]).encode()).hexdigest()
    return keys


def bridge_keys(bridges: Sequence[Bridge], tables: Sequence[Table]) -> dict[Bridge, str]:
    """Return a store key for each join through a crosswalk.

    Returns:
        Keys by bridge, without bridges of a table whose state is unknown.
    """
    states = {table.id: table_key(table) for table in tables if table.state}
    keys = {}
    for bridge in bridges:
        columns = (bridge.left, bridge.left_via, bridge.right_via, bridge.right)
        if all(column.table in states for column in columns):
            parts = [(states[column.table], column.path) for column in columns]
            keys[bridge] = sha256(repr(parts).encode()).hexdigest()
    return keys
