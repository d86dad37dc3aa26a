"""Parts of tables: counted where their rows are, added up where they meet.

A tally is of bounded size, and the tally of a column is the sum of its parts' tallies. So a table
that many tasks read is never in one place: only tallies travel.
"""

import pickle
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from datahub_hyperjoin.errors import EmptyTableError
from datahub_hyperjoin.spark.columns import Column, TableStream
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.counting.facts import Whole, opaque_profile, profile_columns
from datahub_hyperjoin.spark.counting.tally import NOTHING, Tally, add, tally
from datahub_hyperjoin.spark.counting.written import count_written
from datahub_hyperjoin.spark.errors import UnbroughtFileError
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, Table, TableProfile

PARTIAL = pa.schema(
    {"table": pa.int32(), "path": pa.string(), "part": pa.int32(), "counted": pa.binary()}
)
"""A column of a part, or under an empty path the part itself. Spark does not look into it."""

WHOLE = pa.schema({"table": pa.int32(), "path": pa.string(), "counted": pa.binary()})
"""The same of a table."""

_NAMED = 3
"""Notes that are passed on; a thousand parts may all say the same."""


@dataclass(frozen=True, slots=True)
class PartCount:
    """What reading parts of a table came to."""

    parts: int = 0
    """How many parts."""

    rows: int = 0
    """Their rows."""

    notes: tuple[str, ...] = ()
    """What a person should know, each once."""

    faults: tuple[str, ...] = ()
    """Why parts could not be read."""

    def __add__(self, other: "PartCount") -> "PartCount":
        return PartCount(
            self.parts + other.parts,
            self.rows + other.rows,
            tuple(dict.fromkeys((*self.notes, *other.notes))),
            self.faults + other.faults,
        )


def count_part(
    table: int, part: int, reading: TableStream, *, size: int, file: str = ""
) -> pa.RecordBatch:
    """Counts the rows of a part.

    Args:
        table: The table's number.
        part: The part's number; of values written differently the first part's is kept.
        reading: Its rows.
        size: Distinct values kept of each column.
        file: The part's name, if it is a file, for its notes.

    Returns:
        Rows of `PARTIAL`: the part, and each of its columns.

    Raises:
        TableError: The part cannot be read.
    """
    tallies: dict[str, Tally] = {}
    rows = 0
    for batch in reading.batches:
        rows += len(batch)
        found = tally([count_written(column) for column in batch.columns], size)
        for path, seen in zip(batch.schema.names, found, strict=True):
            tallies[path] = add(tallies.get(path, NOTHING), seen, size=size)
    notes = tuple(f"{file}: {note}" if file else note for note in reading.notes)
    columns = {
        column.path: (column, replace(tallies.get(column.path, NOTHING), rows=rows))
        for column in reading.columns
    }
    return _rows(table, part, {"": PartCount(1, rows, notes), **columns})


def void_part(table: int, part: int, *, file: str = "", fault: str = "") -> pa.RecordBatch:
    """Says that a part has no rows, or none that can be read.

    Args:
        table: The table's number.
        part: The part's number.
        file: Its name.
        fault: Why it cannot be read; empty if it just has none.

    Returns:
        A row of `PARTIAL`.
    """
    said = PartCount(1, 0, (f"left out: {file} {fault}",), (fault,)) if fault else PartCount(1)
    return _rows(table, part, {"": said})


def part_number() -> int:
    """The number of the part that a worker is reading.

    Returns:
        Spark's number of the partition; 0 outside of a worker.
    """
    context = TaskContext.get()
    return context.partitionId() if context else 0


def add_up(rows: pa.Table, tables: Sequence[Table], config: ProfileConfig) -> pa.Table:
    """Adds up the parts of one column, or of one table.

    Args:
        rows: Of `PARTIAL`, all of one table and path.
        tables: All tables.
        config: How much to keep.

    Returns:
        One row of `WHOLE`.
    """
    listed = sorted(rows.to_pylist(), key=lambda row: row["part"])
    table, path = listed[0]["table"], listed[0]["path"]
    counted: list[Any] = [pickle.loads(row["counted"]) for row in listed]  # noqa: S301 - ours
    whole = (
        _column(ColumnId(tables[table].id, path), counted, config)
        if path
        else reduce(PartCount.__add__, counted)
    )
    row = {"table": table, "path": path, "counted": pickle.dumps(whole)}
    return pa.Table.from_pylist([row], schema=WHOLE)


def assemble_profile(table: Table, counted: Iterable[bytes], *, files: int = 0) -> TableProfile:
    """The profile of a table.

    Args:
        table: Which one.
        counted: All that `add_up` says of it.
        files: How many parts there should be, if they are files.

    Returns:
        Its profile. Columns that some parts lack have no values there.
    """
    found = [pickle.loads(one) for one in counted]  # noqa: S301 - ours
    own = reduce(
        PartCount.__add__, [one for one in found if isinstance(one, PartCount)], PartCount()
    )
    lost = files - own.parts
    if not own.rows:
        silent = UnbroughtFileError.at_all() if lost > 0 else EmptyTableError.without_rows()
        return TableProfile(table=table, fault=[*own.faults, str(silent)][0])
    notes = [*own.notes[:_NAMED]]
    if len(own.notes) > _NAMED:
        notes.append(f"{len(own.notes) - _NAMED} more notes of its files")
    if lost > 0:
        notes.append(f"files left out, as Spark cannot bring them: {lost}")
    columns = (
        replace(one, rows=own.rows, nulls=one.nulls + own.rows - one.rows)
        for one in found
        if isinstance(one, ColumnProfile)
    )
    return TableProfile(
        table=table,
        columns=tuple(sorted(columns, key=lambda column: column.position)),
        rows=own.rows,
        notes=tuple(notes),
    )


def _column(
    id_: ColumnId, parts: Sequence[tuple[Column, Tally]], config: ProfileConfig
) -> ColumnProfile:
    column = parts[0][0]
    if column.opaque:
        return opaque_profile(id_, column, rows=sum(seen.rows for _, seen in parts))
    # One value more than the sketch keeps tells a full sketch from an overflowing one.
    whole = reduce(partial(add, size=config.sketch_size + 1), [seen for _, seen in parts])
    [profile] = profile_columns([Whole(id_, column.position, whole)], config)
    return profile


def _rows(table: int, part: int, counted: dict[str, object]) -> pa.RecordBatch:
    rows = [
        {"table": table, "path": path, "part": part, "counted": pickle.dumps(one)}
        for path, one in counted.items()
    ]
    return pa.RecordBatch.from_pylist(rows, schema=PARTIAL)
