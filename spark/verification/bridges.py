"""Verify joins through crosswalks (bridges) on all rows of their tables.

The distinct values of the left columns are joined with the rows of the crosswalks, and these with
the distinct values of the right columns. Only hashes and counts of rows are joined, so a join that
multiplies rows costs no more than another.
"""

import sys
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain
from string import Template
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np
import pyarrow as pa

from datahub_hyperjoin.joins import Bridge, Cardinality, Evidence
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import EmptyTableError
from datahub_hyperjoin.spark.executor import (
    OwnProcesses,
    Part,
    TableJob,
    TableRequest,
    executor_for,
)
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.spark.verification.counting import (
    Counted,
    NoteUnread,
    hashed_values,
    log_unread,
    request_values,
)
from datahub_hyperjoin.spark.verification.values import HashedColumn, RequestedColumns, hash_rows
from datahub_hyperjoin.tables import ColumnId, Table, TableId
from datahub_hyperjoin.visible import logger_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from datahub_hyperjoin.spark.on_spark import OnSpark

logger = logger_of(__name__)

VALUE_ROW = pa.schema({"number": pa.int32(), "hash": pa.int64(), "n": pa.int64()})
"""The hash of a value of a column, and the number of rows of the column, or of a part of it, that
have the value. Spark has no unsigned numbers, so hashes are signed here."""
ENTRY_ROW = pa.schema({"crosswalk": pa.int32(), "x": pa.int64(), "y": pa.int64(), "n": pa.int64()})
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
Sides = tuple[str, str]
"""The paths of two columns of a crosswalk."""
_Item = TypeVar("_Item", bound=Hashable)
_DEFAULT_CONFIG = ProfileConfig()
_NO_TEXTS: AbstractSet[ColumnId] = frozenset()


@dataclass(frozen=True, slots=True)
class MatchCounts:
    """The counts of one column's matching values and rows in a join through a crosswalk."""

    values: int = 0
    most: int = 0
    """Greatest number of rows of the join's other column that match one row of this column."""

    rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeCounts:
    """The counts from which the evidence for joins through crosswalks is computed."""

    totals: Mapping[int, tuple[int, int]]
    """For each column that was read: the number of distinct values, and the number of rows with a
    value."""

    read: AbstractSet[int]
    shared: Mapping[int, int]
    """For each join, the number of pairs of values that its crosswalk connects."""

    left: Mapping[int, MatchCounts]
    right: Mapping[int, MatchCounts]


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Integers that identify columns, crosswalks and joins in Spark rows."""

    ends: Mapping[ColumnId, int]
    crosswalks: Mapping[tuple[TableId, Sides], int]
    bridges: Sequence[Bridge]

    @classmethod
    def of(cls, bridges: Sequence[Bridge]) -> "_Numbers":
        ends = dict.fromkeys(column for bridge in bridges for column in bridge.pair)
        crosswalks = dict.fromkeys(map(_crosswalk, bridges))
        return cls(_numbered(ends), _numbered(crosswalks), bridges)

    def links(self) -> list[tuple[int, int, int, int]]:
        """For each join, return four integers that identify the join, its columns and crosswalk."""
        return [
            (
                number,
                self.ends[bridge.left],
                self.crosswalks[_crosswalk(bridge)],
                self.ends[bridge.right],
            )
            for number, bridge in enumerate(self.bridges)
        ]


@dataclass(frozen=True, slots=True)
class RequestedCrosswalks(TableRequest):
    """The crosswalks to read from one table."""

    sides: Mapping[Sides, int]
    """Maps the two columns of each crosswalk to the number that identifies the crosswalk."""

    texts: Collection[str] = ()
    """Paths of those columns of the crosswalks that contain text."""

    @property
    def paths(self) -> frozenset[str]:
        """The paths of the columns to read."""
        return frozenset(path for sides in self.sides for path in sides)


@dataclass(frozen=True)
class CrosswalkEntries(TableJob[RequestedCrosswalks]):
    """The job that reads the rows of crosswalks, with hashes in place of values.

    Other columns are compared by the set of their values. A crosswalk is needed row by row, because
    its rows say which code belongs to which name.
    """

    schema: ClassVar[pa.Schema] = ENTRY_ROW

    def read_whole(
        self, requests: Iterable[RequestedCrosswalks], databases: Databases
    ) -> Iterator[pa.RecordBatch]:
        """Read tables, and leave out those that are unreadable."""
        for request in requests:
            try:
                stream = read_table(
                    request.table, databases, max_rows=sys.maxsize, paths=request.paths
                )
                # A part of a crosswalk would refute what the rest of its rows confirms.
                entries = [*_entries_of(stream.batches, request)]
            except Exception:  # noqa: BLE001, S112 (the guard that keeps one table from ending the run)
                continue
            yield from entries

    def read_part(self, part: Part[RequestedCrosswalks]) -> Iterator[pa.RecordBatch]:
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
    texts: AbstractSet[ColumnId] = _NO_TEXTS,
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
    numbers = _Numbers.of([*dict.fromkeys(bridges)])
    logger.info("Verifying %s joins through crosswalks", len(numbers.bridges))
    ends: dict[Counted, int] = {
        (column, _AS_WRITTEN): number for column, number in numbers.ends.items()
    }
    columns = request_values(tables, ends, texts, {})
    crosswalks = _requested_crosswalks(tables, numbers.crosswalks, texts)
    executor = executor_for(session, config)
    try:
        counts = _count(executor, numbers, columns, crosswalks)
    except executor.errors as error:
        # PySpark takes a tenth of a second to import; small lakes need none.
        from datahub_hyperjoin.spark.native.frames import spark_error_text  # noqa: PLC0415

        logger.warning("Not verified: joins through crosswalks. %s", spark_error_text(error))
        unread = _unreadable(executor, columns, crosswalks)
        # If every table can be read alone, the job failed for another reason, for all of them.
        requested = {each.table.id for each in columns} | {each.table.id for each in crosswalks}
        for table in sorted(unread or requested):
            note_unread(table)
        rest = [each for each in numbers.bridges if unread.isdisjoint(_tables(each))]
        if not unread or not rest:
            return {}
        return verify_bridges(
            session, tables, rest, texts=texts, config=config, note_unread=note_unread
        )
    for table in _unread(numbers, counts):
        note_unread(table)
    return _evidence(numbers, counts)


def _tables(bridge: Bridge) -> set[TableId]:
    return {bridge.left.table, bridge.crosswalk, bridge.right.table}


def _crosswalk(bridge: Bridge) -> tuple[TableId, Sides]:
    return bridge.crosswalk, (bridge.left_via.path, bridge.right_via.path)


def _numbered(items: Iterable[_Item]) -> dict[_Item, int]:
    return {item: number for number, item in enumerate(items)}


def _requested_crosswalks(
    tables: Sequence[Table],
    crosswalks: Mapping[tuple[TableId, Sides], int],
    texts: AbstractSet[ColumnId],
) -> list[RequestedCrosswalks]:
    sides: dict[TableId, dict[Sides, int]] = defaultdict(dict)
    for (table, both), number in crosswalks.items():
        sides[table][both] = number
    return [
        RequestedCrosswalks(
            table,
            sides[table.id],
            texts={
                path
                for path in chain.from_iterable(sides[table.id])
                if ColumnId(table.id, path) in texts
            },
        )
        for table in tables
        if table.id in sides
    ]


def _entries_of(
    batches: Iterable[pa.RecordBatch], request: RequestedCrosswalks
) -> Iterator[pa.RecordBatch]:
    """Replace the values in the rows of crosswalks by hashes."""
    for batch in batches:
        hashed = {
            path: hash_rows(batch.column(path), is_text=path in request.texts)
            for path in batch.schema.names
            if path in request.paths
        }
        for (x, y), number in request.sides.items():
            if x in hashed and y in hashed:
                yield _entries(hashed[x], hashed[y], number)


def _entries(x: HashedColumn, y: HashedColumn, number: int) -> pa.RecordBatch:
    """Count the rows of a crosswalk for each distinct pair of values in its columns `x` and `y`."""
    is_filled = x.is_filled & y.is_filled
    pairs = np.stack([side.hashes[is_filled].view(np.int64) for side in (x, y)])
    distinct, counts = np.unique(pairs, axis=1, return_counts=True)
    columns = [np.full(len(counts), number), distinct[0], distinct[1], counts]
    return pa.RecordBatch.from_arrays(
        [pa.array(values, field.type) for values, field in zip(columns, ENTRY_ROW, strict=True)],
        schema=ENTRY_ROW,
    )


def _unpack_values(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Unpack hash partitions into rows, one for each column and value."""
    for batch in batches:
        for row in batch.to_pylist():
            numbers = np.frombuffer(row["columns"], "<i4")
            sizes, hashes, rows = (
                np.frombuffer(row[name], "<i8") for name in ("sizes", "hashes", "counts")
            )
            columns = map(pa.array, (np.repeat(numbers, sizes), hashes, rows))
            yield pa.RecordBatch.from_arrays([*columns], schema=VALUE_ROW)


def _count(
    executor: "OwnProcesses | OnSpark",
    numbers: _Numbers,
    columns: Sequence[RequestedColumns],
    crosswalks: Sequence[RequestedCrosswalks],
) -> BridgeCounts:
    """Count the values and rows that match through crosswalks."""
    parts = executor.map_parts(hashed_values(executor, columns, {}), columns)
    values = executor.map_rows(parts, _unpack_values, VALUE_ROW)
    entries = executor.map_parts(CrosswalkEntries(), crosswalks)
    by_name = zip(_LINK_ROW.names, zip(*numbers.links(), strict=True), strict=True)
    links = pa.Table.from_pydict(dict(by_name), schema=_LINK_ROW)
    with executor.sql(value_rows=values, entry_rows=entries, links=links) as database:
        database.create("end_values", _VALUES)
        database.create("entries", _ENTRIES)
        database.create("linked", _LINKED)

        def reached(**names: str) -> dict[int, MatchCounts]:
            rows = database.fetch(Template(_REACHED).substitute(names))
            return {bridge: MatchCounts(*counts) for bridge, *counts in rows}

        return BridgeCounts(
            totals={number: (values, rows) for number, values, rows in database.fetch(_TOTALS)},
            read={number for (number,) in database.fetch(_READ)},
            shared=dict(database.fetch(_SHARED)),
            left=reached(value="x", own="of_left", other="of_right"),
            right=reached(value="y", own="of_right", other="of_left"),
        )


def _unreadable(
    executor: "OwnProcesses | OnSpark",
    columns: Sequence[RequestedColumns],
    crosswalks: Sequence[RequestedCrosswalks],
) -> set[TableId]:
    """After a job with all tables has failed, find the tables that cannot be read."""
    job = hashed_values(executor, columns, {})
    ends = {each.table.id for each in executor.readable(job, columns)}
    maps = {each.table.id for each in executor.readable(CrosswalkEntries(), crosswalks)}
    lost = {each.table.id for each in columns} - ends
    return lost | ({each.table.id for each in crosswalks} - maps)


def _unread(numbers: _Numbers, counts: BridgeCounts) -> list[TableId]:
    """List the tables in which a joined column or a crosswalk could not be read."""
    ends, crosswalks = numbers.ends.items(), numbers.crosswalks.items()
    unread = {column.table for column, number in ends if number not in counts.totals}
    return sorted(unread.union(table for (table, _), at in crosswalks if at not in counts.read))


def _evidence(numbers: _Numbers, counts: BridgeCounts) -> dict[Bridge, Evidence]:
    totals, none = counts.totals, MatchCounts()
    return {
        numbers.bridges[at]: _evidence_of(
            counts.shared.get(at, 0),
            (counts.left.get(at, none), *totals[left_end]),
            (counts.right.get(at, none), *totals[right_end]),
        )
        for at, left_end, crosswalk, right_end in numbers.links()
        if left_end in totals and crosswalk in counts.read and right_end in totals
    }


def _evidence_of(
    shared: int, left: tuple[MatchCounts, int, int], right: tuple[MatchCounts, int, int]
) -> Evidence:
    """Compute the evidence for a join from the counts of its two columns."""
    (from_left, left_values, left_rows), (from_right, right_values, right_rows) = left, right
    sides = ("ONE" if reached.most <= 1 else "N" for reached in (from_right, from_left))
    return Evidence(
        shared=shared,
        left_containment=from_left.values / left_values,
        right_containment=from_right.values / right_values,
        cardinality=Cardinality("_".join(sides)),
        left_fan_out=from_left.rows / left_rows,
        # The rows of the join are the same from both sides.
        right_fan_out=from_left.rows / right_rows,
        rows=from_left.rows,
    )
