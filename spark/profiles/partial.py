"""Count the rows and values in parts of tables, and merge the counts.

An aggregate is of bounded size, and the aggregate of a column is the sum of those of its parts. A
table that many tasks read is therefore never in one place: only aggregates travel.
"""

import pickle
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from datahub_hyperjoin.spark.columns import Column, SampleCount, TableStream
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.aggregate import (
    EMPTY_AGGREGATE,
    ColumnAggregate,
    aggregate_columns,
    merge_aggregates,
)
from datahub_hyperjoin.spark.counting.column_profiles import (
    CountedColumn,
    opaque_profile,
    profile_columns,
)
from datahub_hyperjoin.spark.counting.personal import hide_personal_values
from datahub_hyperjoin.spark.counting.texts import count_texts
from datahub_hyperjoin.spark.errors import EmptyTableError, UnshippedFileError
from datahub_hyperjoin.spark.native.jobs import collect_arrow
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, Table, TableProfile

PART_ROW = pa.schema(
    {"table": pa.int32(), "path": pa.string(), "part": pa.int32(), "counted": pa.binary()}
)
"""Schema of the rows that hold the counts of one column in one part of a table. If the path is
empty, the counts are of the part itself. Spark passes `counted` on as bytes."""

MERGED_ROW = pa.schema({"table": pa.int32(), "path": pa.string(), "counted": pa.binary()})
"""The merged counts of a column of a table, or of the table itself if the path is empty."""

_MAX_NOTES = 3
"""Maximum number of notes that are kept of a table; a thousand parts may have the same note."""
_COUNT_AT_END = re.compile(r"(.*: )(\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PartCount:
    """The row count, notes and read errors of one or more parts of a table."""

    parts: int = 0
    """Number of the parts that were counted."""

    rows: int = 0
    """Number of rows."""

    notes: tuple[str, ...] = ()
    """Notes about files and columns, without duplicates."""

    row_notes: tuple[str, ...] = ()
    """Notes for users about rows. If a note occurs in several parts, its numbers are added up."""

    faults: tuple[str, ...] = ()
    """The errors of the parts that cannot be read."""

    sample: SampleCount = field(default_factory=SampleCount)
    """How many rows were read, and how many of them were drawn, if the parts are sampled."""

    def __add__(self, other: "PartCount") -> "PartCount":
        return PartCount(
            self.parts + other.parts,
            self.rows + other.rows,
            tuple(dict.fromkeys((*self.notes, *other.notes))),
            add_up_notes((*self.row_notes, *other.row_notes)),
            self.faults + other.faults,
            self.sample + other.sample,
        )


def add_up_notes(notes: Iterable[str]) -> tuple[str, ...]:
    """Merge notes that differ only in the number at their ends, and add up these numbers.

    >>> add_up_notes(["skipped rows: 2", "read in parts", "skipped rows: 5", "read in parts"])
    ('skipped rows: 7', 'read in parts')
    """
    totals = Counter[str]()
    for note in notes:
        counted = _COUNT_AT_END.fullmatch(note)
        totals[counted[1] if counted else note] += int(counted[2]) if counted else 0
    return tuple(f"{note}{total or ''}" for note, total in totals.items())


def count_part(
    table: int,
    part: int,
    stream: TableStream,
    config: ProfileConfig,
    *,
    file: str = "",
    sample: SampleCount | None = None,
) -> pa.RecordBatch:
    """Count the rows in one part of a table, and aggregate the part's columns.

    Args:
        part: The part's index. If parts write a value differently, the form of the first is kept.
        config: How many distinct values are kept per column, and how they are hashed.
        file: The part's name in its notes, if it is a file.
        sample: Counts the rows of the stream as they are drawn, if the part is sampled.

    Returns:
        Rows of `PART_ROW`: the part, and each of its columns.
    """
    aggregates: dict[str, ColumnAggregate] = {}
    # Readers add notes on rows while they read.
    rows, size, opened = 0, config.sketch_size + 1, len(stream.notes)
    for batch in stream.batches:
        rows += len(batch)
        texts = [count_texts(column) for column in batch.columns]
        counted = aggregate_columns(texts, size, value_hash=config.value_hash)
        for path, aggregate in zip(batch.schema.names, counted, strict=True):
            before = aggregates.get(path, EMPTY_AGGREGATE)
            aggregates[path] = merge_aggregates(before, aggregate, size=size)
    notes = [f"{file}: {note}" if file else note for note in stream.notes]
    count = PartCount(
        1,
        rows,
        notes=tuple(notes[:opened]),
        row_notes=tuple(notes[opened:]),
        sample=sample or SampleCount(),
    )
    columns = {
        column.path: (column, replace(aggregates.get(column.path, EMPTY_AGGREGATE), rows=rows))
        for column in stream.columns
    }
    return _part_rows(table, part, {"": count, **columns})


def uncounted_part(table: int, part: int, *, file: str = "", fault: str = "") -> pa.RecordBatch:
    """Return the counts of a table part that is empty or unreadable.

    Args:
        fault: Why it cannot be read; empty if it has no rows.
    """
    notes, faults = (f"skipped file: {file} {fault}",), (fault,)
    count = PartCount(1, notes=notes, faults=faults) if fault else PartCount(1)
    return _part_rows(table, part, {"": count})


def partition_index() -> int:
    """Return the index of the Spark partition that this worker processes.

    It is 0 outside a worker.
    """
    context = TaskContext.get()
    return context.partitionId() if context else 0


def merge_parts(rows: pa.Table, tables: Sequence[Table], config: ProfileConfig) -> pa.Table:
    """Merge the counts of one column, or the row counts, from all parts of a table.

    Rows with an empty path hold row counts.

    Args:
        rows: All rows of `PART_ROW` of one table and path.
    """
    # Spark delivers parts in any order; profiles must not depend on it.
    parts = sorted(rows.to_pylist(), key=lambda row: row["part"])
    table, path = parts[0]["table"], parts[0]["path"]
    counted: list[Any] = [pickle.loads(row["counted"]) for row in parts]  # noqa: S301 - ours
    merged = (
        _merge_column(tables[table], path, counted, config)
        if path
        else reduce(PartCount.__add__, counted)
    )
    row = {"table": table, "path": path, "counted": pickle.dumps(merged)}
    return pa.Table.from_pylist([row], schema=MERGED_ROW)


def collect_counts(
    parts: DataFrame, tables: Sequence[Table], config: ProfileConfig
) -> dict[int, list[bytes]]:
    """Run the Spark job that counts parts of tables, and merge the counts by column.

    Spark merges them, so that the driver receives one count per column and not one per part.
    """

    def merge(rows: pa.Table) -> pa.Table:
        return merge_parts(rows, tables, config)

    merged = parts.groupBy("table", "path").applyInArrow(merge, from_arrow_schema(MERGED_ROW))
    counted = defaultdict[int, list[bytes]](list)
    for row in collect_arrow(merged).to_pylist():
        counted[row["table"]].append(row["counted"])
    return counted


def assemble_profile(table: Table, counted: Iterable[bytes], *, files: int = 0) -> TableProfile:
    """Build a table's profile from the merged counts of its parts, and note missing files.

    Args:
        files: Number of files that the table has, if its parts are files.

    Returns:
        Its profile. In parts without one of the columns, the column's values are null. A file that
        cannot be read is left out; if any other part cannot be read, the table cannot be read.
    """
    merged = [pickle.loads(each) for each in counted]  # noqa: S301 - ours
    counts = [each for each in merged if isinstance(each, PartCount)]
    total = reduce(PartCount.__add__, counts, PartCount())
    # Spark leaves out files that it cannot copy, so fewer parts arrive than were sent.
    lost = files - total.parts
    if not total.rows or (total.faults and not files):
        reason = UnshippedFileError.at_all() if lost > 0 else EmptyTableError.without_rows()
        return TableProfile(table=table, fault=[*total.faults, str(reason)][0])
    found = (*total.notes, *total.row_notes)
    notes = [*found[:_MAX_NOTES]]
    if len(found) > _MAX_NOTES:
        notes.append(f"{len(found) - _MAX_NOTES} more notes of its files")
    notes += total.sample.notes(total.parts)
    if lost > 0:
        notes.append(f"skipped files that Spark cannot copy: {lost}")
    columns = (
        # Some files may lack a column; their rows count as nulls.
        replace(column, rows=total.rows, nulls=column.nulls + total.rows - column.rows)
        for column in merged
        if isinstance(column, ColumnProfile)
    )
    return TableProfile(
        table=table,
        columns=tuple(sorted(columns, key=lambda column: column.position)),
        rows=total.rows,
        notes=tuple(notes),
    )


def _merge_column(
    table: Table,
    path: str,
    parts: Sequence[tuple[Column, ColumnAggregate]],
    config: ProfileConfig,
) -> ColumnProfile:
    id_, column = ColumnId(table.id, path), parts[0][0]
    if column.opaque:
        return opaque_profile(id_, column, rows=sum(aggregate.rows for _, aggregate in parts))
    # One value more than the sketch keeps distinguishes a full sketch from an overflowing one.
    merge = partial(merge_aggregates, size=config.sketch_size + 1)
    aggregate = reduce(merge, [aggregate for _, aggregate in parts])
    [profile] = profile_columns([CountedColumn(id_, column.position, aggregate)], config)
    return hide_personal_values(profile, table, config)


def _part_rows(table: int, part: int, counted: dict[str, object]) -> pa.RecordBatch:
    rows = [
        {"table": table, "path": path, "part": part, "counted": pickle.dumps(value)}
        for path, value in counted.items()
    ]
    return pa.RecordBatch.from_pylist(rows, schema=PART_ROW)
