"""Parts of tables: counted where their rows are, added up where they meet.

A tally is of bounded size, and the tally of a column is the sum of its parts' tallies. So a table
that many tasks read is never in one place: only tallies travel.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from datahub_hyperjoin.errors import EmptyTableError
from datahub_hyperjoin.spark.columns import Reading
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.errors import UnbroughtFileError
from datahub_hyperjoin.spark.profile import opaque_profile
from datahub_hyperjoin.spark.rows import COLUMN, column_from_row, column_to_row
from datahub_hyperjoin.spark.sketch import Values
from datahub_hyperjoin.spark.tally import NOTHING, Tally, add, profile_column, tally
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, DataType, Table, TableProfile

_VALUES = pa.struct(
    {"hashes": pa.binary(), "counts": pa.binary(), "written": pa.list_(pa.string())}
)
PARTIAL = pa.schema(
    {
        "table": pa.int32(),
        "part": pa.int32(),
        "path": pa.string(),
        "position": pa.int32(),
        "opaque": pa.string(),
        "rows": pa.int64(),
        "nulls": pa.int64(),
        "kinds": pa.list_(pa.string()),
        "values": _VALUES,
        "missing": _VALUES,
        "shortest": pa.int64(),
        "longest": pa.int64(),
        "notes": pa.list_(pa.string()),
        "fault": pa.string(),
    }
)
"""A column of a part; under an empty path, the part itself."""

WHOLE = pa.schema(
    {
        "table": pa.int32(),
        "path": pa.string(),
        "parts": pa.int32(),
        "rows": pa.int64(),
        "notes": pa.list_(pa.string()),
        "faults": pa.list_(pa.string()),
        "column": COLUMN,
    }
)
"""A column of a table; under an empty path, the table itself."""

_NAMED = 3
"""Notes that are passed on; a thousand parts may all say the same."""

_NOTHING: Mapping[str, Any] = {"parts": 0, "rows": 0, "notes": [], "faults": []}


def count_part(
    table: int, part: int, reading: Reading, *, size: int, file: str = ""
) -> Iterator[dict[str, Any]]:
    """Counts the rows of a part.

    Args:
        table: The table's number.
        part: The part's number; of values written differently the first part's is kept.
        reading: Its rows.
        size: Distinct values kept of each column.
        file: The part's name, if it is a file, for its notes.

    Yields:
        Rows of `PARTIAL`: the part, and each of its columns.

    Raises:
        TableError: The part cannot be read.
    """
    tallies: dict[str, Tally] = {}
    rows = 0
    for batch in reading.batches:
        rows += len(batch)
        for path, column in zip(batch.schema.names, batch.columns, strict=True):
            tallies[path] = add(tallies.get(path, NOTHING), tally(column, size), size=size)
    key = {"table": table, "part": part}
    notes = [f"{file}: {note}" if file else note for note in reading.notes]
    yield {**key, "path": "", "rows": rows, "notes": notes, "fault": ""}
    for column in reading.columns:
        seen = tallies.get(column.path, NOTHING)
        yield {
            **key,
            "path": column.path,
            "position": column.position,
            "opaque": column.opaque.value if column.opaque else None,
            "rows": rows,
            "nulls": seen.nulls,
            "kinds": sorted(kind.value for kind in seen.kinds),
            "values": _packed(seen.values),
            "missing": _packed(seen.missing),
            "shortest": seen.lengths[0],
            "longest": seen.lengths[1],
        }


def part_number() -> int:
    """The number of the part that a worker is reading.

    Returns:
        Spark's number of the partition; 0 outside of a worker.
    """
    context = TaskContext.get()
    return context.partitionId() if context else 0


def void_part(table: int, part: int, *, file: str = "", fault: str = "") -> dict[str, Any]:
    """Says that a part has no rows, or none that can be read.

    Args:
        table: The table's number.
        part: The part's number.
        file: Its name.
        fault: Why it cannot be read; empty if it just has none.

    Returns:
        A row of `PARTIAL`.
    """
    notes = [f"left out: {file} {fault}"] if fault else []
    return {"table": table, "part": part, "path": "", "rows": 0, "notes": notes, "fault": fault}


def add_up(rows: pa.Table, tables: Sequence[Table], config: ProfileConfig) -> pa.Table:
    """Adds up the parts of one column, or of one table.

    Args:
        rows: Of `PARTIAL`, all of one table and path.
        tables: All tables.
        config: How much to keep.

    Returns:
        One row of `WHOLE`.
    """
    parts = sorted(rows.to_pylist(), key=lambda row: row["part"])
    first = parts[0]
    whole = {
        "table": first["table"],
        "path": first["path"],
        "parts": len(parts),
        "rows": sum(part["rows"] for part in parts),
        "notes": [*dict.fromkeys(note for part in parts for note in part["notes"] or ())],
        "faults": [part["fault"] for part in parts if part["fault"]],
    }
    if first["path"]:
        id_ = ColumnId(tables[first["table"]].id, first["path"])
        whole["column"] = column_to_row(_column(id_, parts, config))
    return pa.Table.from_pylist([whole], schema=WHOLE)


def assemble(table: Table, rows: Iterable[Mapping[str, Any]], *, files: int = 0) -> TableProfile:
    """The profile of a table.

    Args:
        table: Which one.
        rows: Of `WHOLE`, all that there are of it.
        files: How many parts there should be, if they are files.

    Returns:
        Its profile. Columns that some parts lack have no values there.
    """
    columns = {row["path"]: row for row in rows}
    own = columns.pop("", _NOTHING)
    lost = files - own["parts"]
    if not own["rows"]:
        silent = UnbroughtFileError.at_all() if lost > 0 else EmptyTableError.without_rows()
        return TableProfile(table=table, fault=[*own["faults"], str(silent)][0])
    notes = own["notes"][:_NAMED]
    if len(own["notes"]) > _NAMED:
        notes.append(f"{len(own['notes']) - _NAMED} more notes of its files")
    if lost > 0:
        notes.append(f"files left out, as Spark cannot bring them: {lost}")
    found = (
        column_from_row(table, _filled_up(row["column"], own["rows"])) for row in columns.values()
    )
    return TableProfile(
        table=table,
        columns=tuple(sorted(found, key=lambda column: column.position)),
        rows=own["rows"],
        notes=tuple(notes),
    )


def _column(
    id_: ColumnId, parts: Sequence[Mapping[str, Any]], config: ProfileConfig
) -> ColumnProfile:
    position = min(part["position"] for part in parts)
    opaque = parts[0]["opaque"]
    if opaque:
        rows = sum(part["rows"] for part in parts)
        return opaque_profile(id_, position, DataType(opaque), rows=rows)
    # One value more than the sketch keeps tells a full sketch from an overflowing one.
    whole = reduce(partial(add, size=config.sketch_size + 1), map(_tally, parts))
    return profile_column(id_, position, whole, config=config)


def _filled_up(column: Mapping[str, Any], rows: int) -> dict[str, Any]:
    return {**column, "rows": rows, "nulls": column["nulls"] + rows - column["rows"]}


def _packed(values: Values) -> dict[str, Any]:
    return {
        "hashes": values.hashes.astype("<u8").tobytes(),
        "counts": values.counts.astype("<i8").tobytes(),
        "written": values.written.to_pylist(),
    }


def _unpacked(values: Mapping[str, Any]) -> Values:
    return Values(
        np.frombuffer(values["hashes"], "<u8"),
        np.frombuffer(values["counts"], "<i8"),
        pa.array(values["written"], pa.string()),
    )


def _tally(part: Mapping[str, Any]) -> Tally:
    return Tally(
        rows=part["rows"],
        nulls=part["nulls"],
        kinds=frozenset(map(DataType, part["kinds"])),
        values=_unpacked(part["values"]),
        missing=_unpacked(part["missing"]),
        lengths=(part["shortest"], part["longest"]),
    )
