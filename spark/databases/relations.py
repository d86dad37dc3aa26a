"""Inspect database tables and views with SQLAlchemy, and read their rows over one connection."""

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from sqlalchemy import (
    ColumnElement,
    Connection,
    Dialect,
    Engine,
    Inspector,
    Select,
    column,
    func,
    inspect,
    literal_column,
    select,
    table,
)
from sqlalchemy.exc import NoSuchTableError, SQLAlchemyError
from sqlalchemy.sql.elements import quoted_name
from sqlalchemy.types import Integer, TypeEngine

from datahub_hyperjoin.locations import Relation
from datahub_hyperjoin.spark.columns import (
    Batches,
    Column,
    Paths,
    TableStream,
    choose_selectable_columns,
    naming_columns,
    readable_paths,
)
from datahub_hyperjoin.spark.counting.texts import texts_of
from datahub_hyperjoin.spark.databases.connections import seconds_in_all, statement_limit
from datahub_hyperjoin.spark.databases.engines import (
    database_error_code,
    database_error_text,
    unreadable,
    without_type_warnings,
)
from datahub_hyperjoin.spark.databases.system import query, stored_name, system_of
from datahub_hyperjoin.spark.errors import (
    Cause,
    EmptyRelationError,
    UnreadableRelationError,
    cause_of,
)
from datahub_hyperjoin.spark.objects import batch_of
from datahub_hyperjoin.tables import DataType

_BATCH_CELLS = 1 << 17


class ReflectedColumn(NamedTuple):
    """A column as the database describes it."""

    name: str
    type: TypeEngine[Any]


def inspect_database(engine: Engine) -> Inspector:
    """Create a SQLAlchemy inspector for a database."""
    try:
        return inspect(engine)
    except SQLAlchemyError as error:
        raise unreadable(error) from None


def lacks_privilege(error: SQLAlchemyError) -> bool:
    """Return whether a database refused a statement because the user lacks a privilege."""
    return cause_of(database_error_text(error), database_error_code(error)) is Cause.PRIVILEGE


def choose_relation_columns(
    relation: Relation, inspector: Inspector, paths: Paths = None
) -> tuple[tuple[Column, ...], list[str]]:
    """Return the columns to read from a table or view, and notes about the others."""
    system = system_of(inspector.dialect)
    asked = {"schema": relation.schema, "name": relation.name}
    try:
        columns = reflect_columns(relation, inspector)
        withheld = {name for (name,) in query(inspector.bind, system.withheld_columns, **asked)}
    except NoSuchTableError:
        raise UnreadableRelationError.removed() from None
    except SQLAlchemyError as error:
        raise unreadable(error) from None
    # Without any column to select, the database says why.
    withheld = withheld if len(withheld) < len(columns) else set()
    known = [
        Column(name, position, DataType.TEXT, is_withheld=True)
        if name in withheld
        else Column(name, position, system.opaque_type(type_), is_binary=system.has_digits(type_))
        for position, (name, type_) in enumerate(columns)
    ]
    return choose_selectable_columns(known, paths)


def reflect_columns(relation: Relation, inspector: Inspector) -> list[ReflectedColumn]:
    """Ask once for the columns of a table or view that can be read, in the table's order."""
    # Not every dialect keeps what it is told.
    key = ("reflect_columns", relation.schema, relation.name)
    if key not in inspector.info_cache:
        with without_type_warnings():
            inspector.info_cache[key] = _reflect(relation, inspector)
    name_of = system_of(inspector.dialect).column_name
    return [
        ReflectedColumn(name_of(each["name"]), each["type"]) for each in inspector.info_cache[key]
    ]


def _reflect(relation: Relation, inspector: Inspector) -> Sequence[Mapping[str, Any]]:
    try:
        return inspector.get_columns(relation.name, relation.schema or None)
    except SQLAlchemyError as error:
        system = system_of(inspector.dialect)
        granted = lacks_privilege(error) and system.granted_columns(relation, inspector)
        if not granted:
            raise
    return granted


def select_values(
    relation: Relation, names: Sequence[str], inspector: Inspector
) -> Select[tuple[object, ...]]:
    """Build a `SELECT` statement for the values of some columns, in a form that drivers read.

    Without names, a constant is selected for each row.
    """
    dialect, system = inspector.dialect, system_of(inspector.dialect)
    statement = select_from(relation, names, dialect)
    try:
        columns = reflect_columns(relation, inspector) if names else []
    except SQLAlchemyError as error:
        raise unreadable(error) from None
    readings = {
        stored_name(each.name, dialect): reading
        for each in columns
        if (reading := system.reading(each.type))
    }
    if not readings:
        return statement
    stored = [stored_name(name, dialect) for name in names]
    mark = dialect.identifier_preparer.initial_quote
    read: list[ColumnElement[object]] = [
        literal_column(readings[name].format(f"{mark}{name.replace(mark, mark * 2)}{mark}"))
        if name in readings
        else column(name)
        for name in stored
    ]
    return statement.with_only_columns(*read)


def select_from(
    relation: Relation, names: Sequence[str], dialect: Dialect
) -> Select[tuple[object, ...]]:
    """Build a `SELECT` statement for some columns of a table or view.

    All names are quoted, so that reserved words and capitals are taken literally. Without names, a
    constant is selected for each row.
    """
    schema = stored_name(relation.schema, dialect) if relation.schema else None
    source = table(stored_name(relation.name, dialect), schema=schema)
    columns: list[ColumnElement[object]] = [column(stored_name(name, dialect)) for name in names]
    # Even without columns, a row counts.
    return select(*(columns or [literal_column("1")])).select_from(source)


def read_rows(
    engine: Engine, statement: Select[tuple[object, ...]], names: Sequence[str]
) -> Batches:
    """Execute a SQL statement, and yield the result in batches."""
    rows = max(1, _BATCH_CELLS // max(1, len(names)))
    rows = min(rows, system_of(engine.dialect).most_fetched or rows)
    options = {"stream_results": True, "max_row_buffer": rows}
    with _reading(engine) as connection:
        end = time.monotonic() + seconds_in_all(connection)
        # PyMySQL cannot end a transaction while a result is open.
        with closing(connection.execution_options(**options).execute(statement)) as result:
            for batch in result.partitions(rows):
                columns = [list(values) for values in zip(*batch, strict=True)]
                yield batch_of(names, columns, rows=len(batch))
                if time.monotonic() > end:
                    raise UnreadableRelationError.too_slow(statement_limit(connection))


@contextmanager
def _reading(engine: Engine) -> Iterator[Connection]:
    """Provide a connection with a transaction, and convert the errors of its statements."""
    limit = math.inf
    try:
        with engine.connect() as connection:
            connection.begin()
            limit = statement_limit(connection)
            yield connection
    except SQLAlchemyError as error:
        raise unreadable(error, limit) from None


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
    limit: int
    note: str
    """A note for the table's profile."""


def sample_rows(relation: Relation, engine: Engine, key: str, *, rows: int, most: int) -> RowSample:
    """Choose at most `most` rows of a table, spread evenly over the range of its key.

    Without a key, which is then empty, they are the first rows that the database returns.
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
    """Return a table's primary key if it is a single integer column, else an empty string."""
    try:
        types = {each.name: each.type for each in reflect_columns(relation, inspector)}
        constraint = inspector.get_pk_constraint(relation.name, relation.schema or None)
    except SQLAlchemyError as error:
        # MariaDB may show the rows of a table to a user whom it does not show the table's keys.
        if lacks_privilege(error):
            return ""
        raise unreadable(error) from None
    system = system_of(inspector.dialect)
    key = [*map(system.column_name, constraint["constrained_columns"])]
    # A key column that the user may not select splits no rows.
    is_integer = len(key) == 1 and key[0] in types and system.is_integer(types[key[0]])
    return key[0] if is_integer else ""


def split_key(
    relation: Relation, engine: Engine, key: str, parts: int, *, rows: int
) -> list[KeyRange]:
    """Split a table's integer key into disjoint ranges with similar row counts.

    The first and the last are open, so that rows added meanwhile are in one of them.
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
    """Restrict a statement that selects rows of a table to a range of its key."""
    first, end = range_
    number = column(key, Integer)
    if first is not None:
        statement = statement.where(number >= first)
    return statement if end is None else statement.where(number < end)


def _query_number(engine: Engine, statement: Select[Any]) -> int | None:
    """Execute a statement that selects at most one number, and return the number."""
    with _reading(engine) as connection:
        number = connection.execute(statement).scalar_one_or_none()
    return None if number is None else int(number)


_MOST_ROWS = 1 << 31
"""The largest limit that every database accepts; above it, no limit is set."""
SMALLEST_ROW = 8
"""Minimum number of bytes that a row takes on disk."""


def read_relation(
    relation: Relation, engine: Engine, paths: Paths, *, max_rows: int, size: int = 0
) -> TableStream:
    """Open a table or view for reading, and sample its rows if there are more than `max_rows`.

    Then an equal number of rows is read from each of some ranges of its key. Without a key the
    first rows are read, and one row more than allowed, which shows that there are more. The rows
    are counted only if there is a key and the size on disk leaves open whether there are too many.
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
) -> Batches:
    names = readable_paths(columns)
    return _unless_empty((read_rows(engine, each, names) for each in statements), columns)


def _unless_empty(parts: Iterable[Batches], columns: Sequence[Column]) -> Batches:
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


# A run executes the query of each view once: all stages then see the same rows, even of a view that
# returns others each time.


def write_copy(view: Relation, engine: Engine, file: Path) -> None:
    """Write all rows of a view to a file in Arrow's format, as text."""
    inspector = inspect_database(engine)
    columns, _ = choose_relation_columns(view, inspector)
    names = readable_paths(columns)
    schema = pa.schema([(name, pa.string()) for name in names])
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    rows = read_rows(engine, select_values(view, names, inspector), names)
    with (
        closing(rows),
        pa.OSFile(str(file), "wb") as sink,
        pa.ipc.new_file(sink, schema, options=options) as writer,
    ):
        for batch in rows:
            texts = [texts_of(column) for column in batch.columns]
            # Without columns, the batch keeps its number of rows.
            writer.write_batch(pa.record_batch(texts, schema=schema) if texts else batch)


def read_copy(file: str, names: Sequence[str]) -> Batches:
    """Read some columns of a copied view."""
    with pa.OSFile(file, "rb") as source:
        schema = pa.ipc.open_file(source).schema
        places = [schema.get_field_index(name) for name in names]
        options = pa.ipc.IpcReadOptions(included_fields=places)
        reader = pa.ipc.open_file(source, options=options)
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number).select(list(names))
