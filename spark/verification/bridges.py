"""Verify joins through crosswalks (bridges) on all rows of their tables.

The distinct values of the left columns are joined with the rows of the crosswalks, and these with
the distinct values of the right columns. Only hashes and counts of rows are joined, so a join that
multiplies rows costs no more than another.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import chain
from string import Template
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from datahub_hyperjoin.joins import Bridge, Evidence
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.sketch import DistinctValues
from datahub_hyperjoin.spark.errors import EmptyTableError
from datahub_hyperjoin.spark.executor import (
    OwnProcesses,
    Part,
    TableJob,
    TableRequest,
    executor_for,
)
from datahub_hyperjoin.spark.verification.counting import (
    CARDINALITY,
    Counted,
    HashedValues,
    NoteUnread,
    in_groups,
    log_unread,
    request_values,
    texts_among,
)
from datahub_hyperjoin.spark.verification.values import HashedColumn, RequestedColumns, hash_columns
from datahub_hyperjoin.tables import ColumnId, Table, TableId
from datahub_hyperjoin.visible import logger_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from datahub_hyperjoin.spark.on_spark import OnSpark

logger = logger_of(__name__)

_VALUE_ROW = pa.schema({"number": pa.int32(), "hash": pa.int64(), "n": pa.int64()})
"""The hash of a value of a column, and the number of rows of the column, or of a part of it, that
have the value. Spark has no unsigned numbers, so hashes are signed here."""
_ENTRY_ROW = pa.schema({"crosswalk": pa.int32(), "x": pa.int64(), "y": pa.int64(), "n": pa.int64()})
"""The hashes of the values in two columns, and the number of rows that hold both; the rows of one
crosswalk may repeat."""
_LINK_ROW = pa.schema(
    {name: pa.int32() for name in ("bridge", "left_end", "crosswalk", "right_end")}
)

# SQL that DuckDB and Spark both understand. The links are few: sent to all workers of Spark, they
# spare a shuffle of the crosswalks.
_VALUES = "SELECT number, hash, CAST(SUM(n) AS BIGINT) AS n FROM {value_rows} GROUP BY number, hash"
_ENTRIES = """
SELECT crosswalk, x, y, CAST(SUM(n) AS BIGINT) AS n FROM {entry_rows} GROUP BY crosswalk, x, y
"""
_LINKED = """
SELECT /*+ BROADCAST(k) */ k.bridge, e.x, e.y, e.n, a.n AS of_left, b.n AS of_right
FROM {entries} AS e
JOIN {links} AS k ON k.crosswalk = e.crosswalk
JOIN {end_values} AS a ON a.number = k.left_end AND a.hash = e.x
JOIN {end_values} AS b ON b.number = k.right_end AND b.hash = e.y
"""
_TOTALS = "SELECT number, COUNT(*), CAST(SUM(n) AS BIGINT) FROM {end_values} GROUP BY number"
_READ = "SELECT DISTINCT crosswalk FROM {entries}"
_SHARED = "SELECT bridge, COUNT(*) FROM {linked} GROUP BY bridge"
# Every row of a group has the same count of its own value.
_REACHED = """
SELECT bridge, COUNT(*), CAST(MAX(matched) AS BIGINT), CAST(SUM(matched * own) AS BIGINT)
FROM (
    SELECT bridge, SUM(n * $other) AS matched, MAX($own) AS own
    FROM {linked} GROUP BY bridge, $value
) AS reached
GROUP BY bridge
"""

_AS_WRITTEN = ""
_Sides = tuple[str, str]
"""The paths of two columns of a crosswalk."""
_DEFAULT_CONFIG = ProfileConfig()


class _Matches(NamedTuple):
    """The counts of one column's matching values and rows in a join through a crosswalk."""

    values: int = 0
    most: int = 0
    """Greatest number of rows of the join's other column that match one row of this column."""

    rows: int = 0


class _BridgeCounts(NamedTuple):
    """The counts from which the evidence for joins through crosswalks is computed."""

    totals: Mapping[int, tuple[int, int]]
    """For each column that was read: the number of distinct values, and the number of rows with a
    value."""

    read: AbstractSet[int]
    shared: Mapping[int, int]
    """For each join, the number of pairs of values that its crosswalk connects."""

    left: Mapping[int, _Matches]
    right: Mapping[int, _Matches]


class _Numbers:
    """Integers that identify columns, crosswalks and joins in Spark rows."""

    def __init__(self, bridges: Iterable[Bridge]) -> None:
        self.bridges = [*dict.fromkeys(bridges)]
        ends = dict.fromkeys(column for bridge in self.bridges for column in bridge.pair)
        self.ends = {column: number for number, column in enumerate(ends)}
        crosswalks = dict.fromkeys(map(_crosswalk, self.bridges))
        self.crosswalks = {crosswalk: number for number, crosswalk in enumerate(crosswalks)}
        self.links = [
            (number, self.ends[each.left], self.crosswalks[_crosswalk(each)], self.ends[each.right])
            for number, each in enumerate(self.bridges)
        ]
        """The numbers of each join, of its left column, of its crosswalk, of its right column."""


@dataclass(frozen=True, slots=True)
class _RequestedCrosswalks(TableRequest):
    """The crosswalks to read from one table."""

    sides: Mapping[_Sides, int]
    """Maps the two columns of each crosswalk to the number that identifies the crosswalk."""

    texts: Collection[str] = ()
    """Paths of those columns of the crosswalks that contain text."""

    @property
    def paths(self) -> frozenset[str]:
        """The paths of the columns to read."""
        return frozenset(chain(*self.sides))


@dataclass(frozen=True)
class _ColumnValues(HashedValues):
    """The job that reads columns, and returns a row for each of their distinct values."""

    schema: ClassVar[pa.Schema] = _VALUE_ROW

    def rows(self, values: Iterable[tuple[int, DistinctValues]]) -> Iterator[pa.RecordBatch]:
        """Write each value as a row."""
        for columns in in_groups(values):
            numbers = np.repeat([number for number, _ in columns], [len(own) for _, own in columns])
            hashes = np.concatenate([own.hashes.view(np.int64) for _, own in columns])
            counts = np.concatenate([own.counts for _, own in columns])
            yield _batch([numbers, hashes, counts], _VALUE_ROW)


@dataclass(frozen=True)
class _CrosswalkEntries(TableJob[_RequestedCrosswalks]):
    """The job that reads the rows of crosswalks, with hashes in place of values.

    Other columns are compared by the set of their values. A crosswalk is needed row by row, because
    its rows say which code belongs to which name. A part of a crosswalk would refute what the rest
    of its rows confirms.
    """

    schema: ClassVar[pa.Schema] = _ENTRY_ROW

    def read_part(self, part: Part[_RequestedCrosswalks]) -> Iterator[pa.RecordBatch]:
        """Read a part of a table."""
        try:
            stream = part.open()
        except EmptyTableError:
            return
        yield from _entries_of(stream.batches, part.request)


def verify_bridges(
    session: "SparkSession | None",
    tables: Sequence[Table],
    bridges: Sequence[Bridge],
    *,
    texts: AbstractSet[ColumnId] = frozenset(),
    config: ProfileConfig = _DEFAULT_CONFIG,
    note_unread: NoteUnread = log_unread,
) -> dict[Bridge, Evidence]:
    """Measure how well pairs of columns join through crosswalks (bridges).

    Args:
        session: Runs the Spark jobs; None to read all tables in this process.
        texts: Columns of text, in which words such as `NA` are values; a part of a table cannot
            tell, so the profiles of whole tables do.
        config: Provides the size from which a table is read by many tasks.
        note_unread: Receives the tables that cannot be read: their bridges are not refuted.

    Returns:
        Evidence by bridge, without bridges of which a table cannot be read. See
        `CrosswalkJoin.evidence` for its meaning.
    """
    numbers = _Numbers(bridges)
    logger.info("Verifying %s joins through crosswalks", len(numbers.bridges))
    ends: dict[Counted, int] = {(each, _AS_WRITTEN): at for each, at in numbers.ends.items()}
    columns = request_values(tables, ends, texts, {})
    crosswalks = _requested_crosswalks(tables, numbers.crosswalks, texts)
    executor = executor_for(session, config)
    try:
        counts = _count(executor, numbers, columns, crosswalks)
    except executor.errors as error:
        # PySpark takes a tenth of a second to import; small lakes need none.
        from datahub_hyperjoin.spark.native.frames import spark_error_text  # noqa: PLC0415

        logger.warning("Not verified: joins through crosswalks. %s", spark_error_text(error))
        unread = executor.unreadable(_ColumnValues({}), columns)
        unread |= executor.unreadable(_CrosswalkEntries(), crosswalks)
        # If every table can be read alone, the job failed for another reason, for all of them.
        for table in sorted(unread or {each.table.id for each in (*columns, *crosswalks)}):
            note_unread(table)
        tables_of = {each: {column.table for column in each.columns} for each in numbers.bridges}
        rest = [each for each in numbers.bridges if unread.isdisjoint(tables_of[each])]
        if not unread or not rest:
            return {}
        return verify_bridges(
            session, tables, rest, texts=texts, config=config, note_unread=note_unread
        )
    for table in _unread(numbers, counts):
        note_unread(table)
    return _evidence(numbers, counts)


def _crosswalk(bridge: Bridge) -> tuple[TableId, _Sides]:
    return bridge.crosswalk, (bridge.left_via.path, bridge.right_via.path)


def _requested_crosswalks(
    tables: Sequence[Table],
    crosswalks: Mapping[tuple[TableId, _Sides], int],
    texts: AbstractSet[ColumnId],
) -> list[_RequestedCrosswalks]:
    sides: dict[TableId, dict[_Sides, int]] = defaultdict(dict)
    for (table, both), number in crosswalks.items():
        sides[table][both] = number
    found = (_RequestedCrosswalks(each, sides[each.id]) for each in tables if each.id in sides)
    return [replace(each, texts=texts_among(each, texts)) for each in found]


def _entries_of(
    batches: Iterable[pa.RecordBatch], request: _RequestedCrosswalks
) -> Iterator[pa.RecordBatch]:
    """Replace the values in the rows of crosswalks by hashes."""
    for batch in batches:
        hashed = hash_columns(batch, request.paths, request.texts)
        for (x, y), number in request.sides.items():
            if x in hashed and y in hashed:
                yield _entries(hashed[x], hashed[y], number)


def _entries(x: HashedColumn, y: HashedColumn, number: int) -> pa.RecordBatch:
    """Count the rows of a crosswalk for each distinct pair of values in its columns `x` and `y`."""
    is_filled = x.is_filled & y.is_filled
    pairs = np.stack([side.hashes[is_filled].view(np.int64) for side in (x, y)])
    distinct, counts = np.unique(pairs, axis=1, return_counts=True)
    return _batch([np.full(len(counts), number), *distinct, counts], _ENTRY_ROW)


def _batch(columns: Sequence[npt.NDArray[Any]], schema: pa.Schema) -> pa.RecordBatch:
    arrays = [pa.array(each, field.type) for each, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _count(
    executor: "OwnProcesses | OnSpark",
    numbers: _Numbers,
    columns: Sequence[RequestedColumns],
    crosswalks: Sequence[_RequestedCrosswalks],
) -> _BridgeCounts:
    """Count the values and rows that match through crosswalks."""
    values = executor.map_parts(_ColumnValues({}), columns)
    entries = executor.map_parts(_CrosswalkEntries(), crosswalks)
    by_name = zip(_LINK_ROW.names, zip(*numbers.links, strict=True), strict=True)
    links = pa.Table.from_pydict(dict(by_name), schema=_LINK_ROW)
    with executor.sql(value_rows=values, entry_rows=entries, links=links) as database:
        database.create("end_values", _VALUES)
        database.create("entries", _ENTRIES)
        database.create("linked", _LINKED)

        def reached(**names: str) -> dict[int, _Matches]:
            rows = database.fetch(Template(_REACHED).substitute(names))
            return {bridge: _Matches(*counts) for bridge, *counts in rows}

        return _BridgeCounts(
            totals={number: (values, rows) for number, values, rows in database.fetch(_TOTALS)},
            read={number for (number,) in database.fetch(_READ)},
            shared=dict(database.fetch(_SHARED)),
            left=reached(value="x", own="of_left", other="of_right"),
            right=reached(value="y", own="of_right", other="of_left"),
        )


def _unread(numbers: _Numbers, counts: _BridgeCounts) -> list[TableId]:
    """List the tables in which a joined column or a crosswalk could not be read."""
    ends, crosswalks = numbers.ends.items(), numbers.crosswalks.items()
    unread = {column.table for column, number in ends if number not in counts.totals}
    return sorted(unread.union(table for (table, _), at in crosswalks if at not in counts.read))


def _evidence(numbers: _Numbers, counts: _BridgeCounts) -> dict[Bridge, Evidence]:
    totals, none = counts.totals, _Matches()
    found = {}
    for at, left_end, crosswalk, right_end in numbers.links:
        if left_end in totals and crosswalk in counts.read and right_end in totals:
            left, right = counts.left.get(at, none), counts.right.get(at, none)
            left_values, left_rows = totals[left_end]
            right_values, right_rows = totals[right_end]
            found[numbers.bridges[at]] = Evidence(
                shared=counts.shared.get(at, 0),
                left_containment=left.values / left_values,
                right_containment=right.values / right_values,
                cardinality=CARDINALITY[right.most <= 1, left.most <= 1],
                left_fan_out=left.rows / left_rows,
                # The rows of the join are the same from both sides.
                right_fan_out=left.rows / right_rows,
                rows=left.rows,
            )
    return found
