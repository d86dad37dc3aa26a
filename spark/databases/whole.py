"""Reads tables and views of databases over one connection."""

from collections.abc import Collection, Generator, Sequence
from contextlib import closing

import pyarrow as pa
from sqlalchemy import Engine, Select

from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.spark.columns import TableStream, choose_columns, read_of
from datahub_hyperjoin.spark.databases.key_ranges import (
    count_rows,
    find_key,
    key_condition,
    sample_rows,
)
from datahub_hyperjoin.spark.databases.relations import columns_of, look_at, read_rows, select_from
from datahub_hyperjoin.spark.errors import EmptyRelationError

_MOST_ROWS = 1 << 31
"""What every database takes for a limit; more is none."""
_ROW = 8
"""Bytes on a disk that no row takes less than."""


def read_relation(
    relation: Relation,
    engine: Engine,
    paths: Collection[str] | None,
    *,
    max_rows: int,
    size: int = 0,
) -> TableStream:
    """Opens a table or a view.

    Args:
        relation: Which one.
        engine: Its database.
        paths: The columns to read; without it, all.
        max_rows: Rows read at most. If there are more, as many of each of some ranges of its key;
            without a key the first ones, and one more, which shows that there are.
        size: Bytes that it takes on a disk; 0 if nothing tells.

    Returns:
        The reading; its rows stream from the database.

    Raises:
        UnreadableTableError: The database does not tell its columns.
    """
    known = look_at(engine)
    columns, notes = choose_columns(columns_of(relation, known), paths)
    names = read_of(columns)
    rows = select_from(relation, names)
    if max_rows >= _MOST_ROWS:
        return TableStream(columns, _read(engine, [rows], names), notes)
    may_be_long = not size or size > max_rows * _ROW
    key = find_key(relation, known) if may_be_long else ""
    held = count_rows(relation, engine) if key else 0
    if held <= max_rows:
        return TableStream(columns, _read(engine, [rows.limit(max_rows + 1)], names), notes)
    ranges, limit, note = sample_rows(relation, engine, key, rows=held, wanted=max_rows)
    some = [key_condition(rows, key, range_).limit(limit) for range_ in ranges]
    return TableStream(columns, _read(engine, some, names), [*notes, note])


def _read(
    engine: Engine, statements: Sequence[Select[tuple[object, ...]]], names: Sequence[str]
) -> Generator[pa.RecordBatch, None, None]:
    empty = True
    for statement in statements:
        with closing(read_rows(engine, statement, names)) as batches:
            for batch in batches:
                empty = False
                yield batch
    if empty:
        raise EmptyRelationError.without_rows()
