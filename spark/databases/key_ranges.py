"""Parts of a table of a database, by ranges of its key."""

from itertools import pairwise
from typing import NamedTuple

from sqlalchemy import Engine, Inspector, Select, column, func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.sql.elements import quoted_name
from sqlalchemy.types import Integer

from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.spark.databases.engines import database_error_text
from datahub_hyperjoin.spark.databases.relations import name_of, select_from
from datahub_hyperjoin.spark.errors import UnreadableRelationError

Range = tuple[int | None, int | None]
"""From which number on, and before which; none has no end."""

WHOLE_KEY: Range = (None, None)

_SAMPLED = 16
"""Ranges for each connection from each of which some rows are read, where not all are."""


class Sample(NamedTuple):
    """Which rows of a table are read, if not all are."""

    ranges: list[Range]
    """Ranges of its key in which every row is once."""

    limit: int
    """Rows read of each."""

    note: str
    """What a person should know."""


def sample_rows(relation: Relation, engine: Engine, key: str, *, rows: int, wanted: int) -> Sample:
    """Chooses as many rows of each of some ranges of a table's key.

    Args:
        relation: Which table.
        engine: Its database.
        key: The column of whole numbers; empty if there is none.
        rows: How many it has.
        wanted: How many are read at most.

    Returns:
        What to read: without a key, the first rows.

    Raises:
        UnreadableRelationError: The database does not tell where the key begins and ends.
    """
    most = min(relation.database.max_connections * _SAMPLED, wanted)
    ranges = cut_key(relation, engine, key, most) if key else [WHOLE_KEY]
    limit = wanted // len(ranges)
    where = f"of each of {len(ranges)} ranges of {key!r}" if key else "in no order of ours"
    return Sample(ranges, limit, f"read {limit} rows {where}; it has {rows}")


def count_rows(relation: Relation, engine: Engine) -> int:
    """How many rows a table has.

    Args:
        relation: Which one.
        engine: Its database.

    Returns:
        The number, counted by the database.

    Raises:
        UnreadableRelationError: The database does not tell.
    """
    everything = select_from(relation, []).subquery()
    return _ask(engine, select(func.count()).select_from(everything)) or 0


def find_key(relation: Relation, known: Inspector) -> str:
    """The column by which a table can be cut.

    Args:
        relation: Which one.
        known: What its database tells.

    Returns:
        Its primary key, if that is a whole number; empty if there is no such key.

    Raises:
        UnreadableRelationError: The database does not tell.
    """
    at = relation.name, relation.schema or None
    try:
        key = known.get_pk_constraint(*at)["constrained_columns"]
        types = {one["name"]: one["type"] for one in known.get_columns(*at)}
    except SQLAlchemyError as error:
        raise UnreadableRelationError.because(database_error_text(error)) from None
    if len(key) != 1 or not isinstance(types[key[0]], Integer):
        return ""
    return name_of(key[0], known)


def cut_key(relation: Relation, engine: Engine, key: str, parts: int) -> list[Range]:
    """Cuts a table into ranges of its key.

    Args:
        relation: Which one.
        engine: Its database.
        key: The column of whole numbers.
        parts: How many ranges at most.

    Returns:
        Ranges of equal width, in which every row is once.

    Raises:
        UnreadableRelationError: The database does not tell where the key begins and ends.
    """
    ends = select_from(relation, [key]).subquery()
    first = _ask(engine, select(func.min(ends.c[key])))
    last = _ask(engine, select(func.max(ends.c[key])))
    if first is None or last is None:
        return [WHOLE_KEY]
    cuts = sorted({first + (last - first + 1) * at // parts for at in range(1, parts)} - {first})
    return [*pairwise([None, *cuts, None])]


def key_condition(
    statement: Select[tuple[object, ...]], key: str, range_: Range
) -> Select[tuple[object, ...]]:
    """Rows of a range only.

    Args:
        statement: What selects rows of a table.
        key: The column of whole numbers.
        range_: From which to which.

    Returns:
        What selects the range's.
    """
    least, beyond = range_
    number = column(quoted_name(key, quote=True), Integer)
    if least is not None:
        statement = statement.where(number >= least)
    return statement if beyond is None else statement.where(number < beyond)


def _ask(engine: Engine, statement: Select[tuple[int]]) -> int | None:
    """A number; none of no rows."""
    try:
        with engine.connect() as connection:
            return connection.execute(statement).scalar_one()
    except SQLAlchemyError as error:
        raise UnreadableRelationError.because(database_error_text(error)) from None
