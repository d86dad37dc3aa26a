"""Read a database table or view over one connection."""

from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import closing

import pyarrow as pa
from sqlalchemy import Engine, Select

from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.spark.columns import (
    Column,
    TableStream,
    naming_columns,
    readable_paths,
)
from datahub_hyperjoin.spark.databases.key_ranges import (
    count_rows,
    find_integer_key,
    sample_rows,
    within_key_range,
)
from datahub_hyperjoin.spark.databases.relations import (
    choose_relation_columns,
    inspect_database,
    read_rows,
    select_values,
)
from datahub_hyperjoin.spark.databases.stored_names import stored_name
from datahub_hyperjoin.spark.databases.view_copies import read_copy
from datahub_hyperjoin.spark.errors import EmptyRelationError, UnreadableRelationError

_MOST_ROWS = 1 << 31
"""The largest limit that every database accepts; above it, no limit is set."""
SMALLEST_ROW = 8
"""Minimum number of bytes that a row takes on disk."""


def read_relation(
    relation: Relation,
    engine: Engine,
    paths: Collection[str] | None,
    *,
    max_rows: int,
    size: int = 0,
) -> TableStream:
    """Open a table or view for reading, and sample its rows if there are more than `max_rows`.

    If the table has more than `max_rows` rows, an equal number of rows is read from each of some
    ranges of its key. Without a key the first rows are read, and one row more than allowed, which
    shows that there are more. The rows are counted only if there is a key and the size on disk
    leaves open whether there are too many.

    Args:
        paths: Paths of the columns to read; all if None.

    Returns:
        The table being read; its rows stream from the database.
    """
    copy = relation.copy
    if copy and copy.fault:
        raise UnreadableRelationError(copy.fault)
    inspector = inspect_database(engine)
    columns, notes = choose_relation_columns(relation, inspector, paths)
    names = readable_paths(columns)
    if copy:
        return TableStream(columns, _unless_empty([read_copy(copy.file, names)], columns), notes)
    rows = select_values(relation, names, inspector)
    if max_rows >= _MOST_ROWS:
        return TableStream(columns, _read(engine, [rows], columns), notes)
    may_exceed = not size or size > max_rows * SMALLEST_ROW
    key = find_integer_key(relation, inspector) if may_exceed else ""
    with naming_columns(columns):
        row_count = count_rows(relation, engine) if key else 0
    if row_count <= max_rows:
        return TableStream(columns, _read(engine, [rows.limit(max_rows + 1)], columns), notes)
    ranges, limit, note = sample_rows(relation, engine, key, rows=row_count, most=max_rows)
    number = stored_name(key, engine.dialect)
    statements = [within_key_range(rows, number, range_).limit(limit) for range_ in ranges]
    return TableStream(columns, _read(engine, statements, columns), [*notes, note])


def _read(
    engine: Engine, statements: Sequence[Select[tuple[object, ...]]], columns: Sequence[Column]
) -> Generator[pa.RecordBatch, None, None]:
    names = readable_paths(columns)
    return _unless_empty((read_rows(engine, each, names) for each in statements), columns)


def _unless_empty(
    parts: Iterable[Generator[pa.RecordBatch, None, None]], columns: Sequence[Column]
) -> Generator[pa.RecordBatch, None, None]:
    """Yield the rows of all parts; raise an error if there are none."""
    empty = True
    with naming_columns(columns):
        for part in parts:
            with closing(part) as batches:
                for batch in batches:
                    empty = False
                    yield batch
        if empty:
            raise EmptyRelationError.without_rows()
