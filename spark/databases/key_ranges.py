"""Split database tables into ranges of the primary key."""

import math
from itertools import pairwise
from typing import Any, NamedTuple

from sqlalchemy import Engine, Inspector, Select, column, func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.sql.elements import quoted_name
from sqlalchemy.types import Integer, Numeric, TypeEngine

from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.spark.databases.clickhouse_types import ClickHouseType
from datahub_hyperjoin.spark.databases.engines import unreadable
from datahub_hyperjoin.spark.databases.granted_columns import lacks_privilege
from datahub_hyperjoin.spark.databases.relations import (
    name_of,
    reflect_columns,
    select_from,
)
from datahub_hyperjoin.spark.databases.stored_names import stored_name
from datahub_hyperjoin.spark.databases.transactions import statement_limit

KeyRange = tuple[int | None, int | None]
"""A range of a key: the first number, and the number after the last one; None for an open end."""

WHOLE_KEY: KeyRange = (None, None)
"""The range with all rows of a table."""

_MIN_DENSITY = 0.5
"""Minimum density of a key (rows per number) for a division into ranges of equal width. No range
then holds more than twice the mean number of rows."""
_RANGES_PER_CONNECTION = 16
"""Ranges to sample for each connection, if not all rows are read."""


class RowSample(NamedTuple):
    """The rows to read from a table that is too large to be read in full."""

    ranges: list[KeyRange]
    """Disjoint ranges of the key that cover the table."""

    limit: int
    """Number of rows to read from each range."""

    note: str
    """A note for the table's profile."""


def sample_rows(relation: Relation, engine: Engine, key: str, *, rows: int, most: int) -> RowSample:
    """Choose at most `most` rows of a table, spread evenly over the range of its key.

    Args:
        key: Its integer key column; empty if it has none.

    Returns:
        The sample; without a key, it is the first rows that the database returns.
    """
    parts = min(relation.database.max_connections * _RANGES_PER_CONNECTION, most)
    ranges = split_key(relation, engine, key, parts, rows=rows) if key else [WHOLE_KEY]
    limit = most // len(ranges)
    if key:
        sample = f"{limit} rows from each of {len(ranges)} ranges of {key!r}"
    else:
        sample = f"the first {limit} rows that the database returned"
    return RowSample(ranges, limit, f"read {sample}; the table has {rows} rows")


def count_rows(relation: Relation, engine: Engine) -> int:
    """Ask the database how many rows a table has."""
    rows = select_from(relation, [], engine.dialect).subquery()
    return _query_number(engine, select(func.count()).select_from(rows)) or 0


def find_integer_key(relation: Relation, inspector: Inspector) -> str:
    """Return a table's primary key if it is a single integer column, else an empty string.

    Returns:
        The primary key, if it is a single integer column; else empty.
    """
    try:
        types = {each.name: each.type for each in reflect_columns(relation, inspector)}
        constraint = inspector.get_pk_constraint(relation.name, relation.schema or None)
    except SQLAlchemyError as error:
        # MariaDB may show the rows of a table to a user whom it does not show the table's keys.
        if lacks_privilege(error):
            return ""
        raise unreadable(error) from None
    key = [name_of(column_, inspector) for column_ in constraint["constrained_columns"]]
    # A key column that the user may not select splits no rows.
    is_integer = len(key) == 1 and key[0] in types and _is_integer(types[key[0]])
    return key[0] if is_integer else ""


def _is_integer(type_: TypeEngine[object]) -> bool:
    if isinstance(type_, ClickHouseType):
        return type_.is_integer
    # The integers of Snowflake and Oracle are decimal numbers without a fraction.
    return isinstance(type_, Integer) or (isinstance(type_, Numeric) and type_.scale == 0)


def split_key(
    relation: Relation, engine: Engine, key: str, parts: int, *, rows: int
) -> list[KeyRange]:
    """Split a table's integer key into ranges with similar row counts.

    Returns:
        Disjoint ranges that cover the table. The first and the last are open, so that rows added
        meanwhile are in one of them.
    """
    key = stored_name(key, engine.dialect)
    ends = select_from(relation, [key], engine.dialect).subquery()
    first = _query_number(engine, select(func.min(ends.c[key])))
    last = _query_number(engine, select(func.max(ends.c[key])))
    if first is None or last is None:
        return [WHOLE_KEY]
    width = last - first + 1
    if rows < width * _MIN_DENSITY:
        # One far key, such as 2^63 - 1, would leave nearly all rows in one range of equal width.
        boundaries = _equal_counts(relation, engine, key, first, step=-(-rows // parts))
    else:
        # If the key spans fewer numbers than there are parts, some boundaries coincide.
        boundaries = {first + width * part // parts for part in range(1, parts)} - {first}
    return [*pairwise([None, *sorted(boundaries), None])]


def _equal_counts(
    relation: Relation, engine: Engine, key: quoted_name, first: int, *, step: int
) -> set[int]:
    """Find the key values that split a table into ranges of `step` rows each.

    Each statement reads only some entries of the key's index, and so stays within the time limit.
    """
    boundaries: set[int] = set()
    number = column(key, Integer)
    boundary: int | None = first
    while boundary is not None:
        keys = within_key_range(select_from(relation, [key], engine.dialect), key, (boundary, None))
        found = _query_number(engine, keys.order_by(number).offset(step).limit(1))
        # A key of ClickHouse may have the same number in more rows than a range should have.
        boundary = found + 1 if found is not None and found == boundary else found
        if boundary is not None:
            boundaries.add(boundary)
    return boundaries


def within_key_range(
    statement: Select[tuple[object, ...]], key: quoted_name, range_: KeyRange
) -> Select[tuple[object, ...]]:
    """Restrict a `SELECT` statement to a key range.

    Args:
        statement: A statement that selects rows of a table.

    Returns:
        A statement that selects only the rows in the range.
    """
    first, end = range_
    number = column(key, Integer)
    if first is not None:
        statement = statement.where(number >= first)
    return statement if end is None else statement.where(number < end)


def _query_number(engine: Engine, statement: Select[Any]) -> int | None:
    """Execute a statement that selects at most one number, and return the number."""
    limit = math.inf
    try:
        with engine.connect() as connection:
            connection.begin()
            limit = statement_limit(connection)
            number = connection.execute(statement).scalar_one_or_none()
    except SQLAlchemyError as error:
        raise unreadable(error, limit) from None
    return None if number is None else int(number)
