"""Profiles as rows of Arrow, in which they travel and are kept."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from datahub_hyperjoin.tables import (
    ColumnId,
    ColumnProfile,
    DataType,
    Lengths,
    Pattern,
    Table,
    TableProfile,
)

COLUMN = pa.struct(
    {
        "path": pa.string(),
        "position": pa.int32(),
        "type": pa.string(),
        "rows": pa.int64(),
        "nulls": pa.int64(),
        "distinct": pa.int64(),
        "sketch": pa.binary(),
        "sample": pa.list_(pa.string()),
        "counts": pa.list_(pa.int64()),
        "lengths": pa.struct({"shortest": pa.int64(), "mean": pa.float64(), "longest": pa.int64()}),
        "patterns": pa.list_(pa.struct({"shape": pa.string(), "share": pa.float64()})),
    }
)
PROFILE_ROW = pa.schema(
    {
        "place": pa.int64(),
        "rows": pa.int64(),
        "notes": pa.list_(pa.string()),
        "fault": pa.string(),
        "columns": pa.list_(COLUMN),
    }
)


def to_row(place: int, profile: TableProfile) -> dict[str, Any]:
    """A profile as it travels.

    Args:
        place: The table's number.
        profile: What it says.

    Returns:
        A row of `PROFILE_ROW`.
    """
    return {
        "place": place,
        "rows": profile.rows,
        "notes": profile.notes,
        "fault": profile.fault,
        "columns": [column_to_row(column) for column in profile.columns],
    }


def from_row(table: Table, row: dict[str, Any]) -> TableProfile:
    """A profile as it was.

    Args:
        table: Which table.
        row: A row of `PROFILE_ROW`.

    Returns:
        Its profile.
    """
    return TableProfile(
        table=table,
        columns=tuple(column_from_row(table, column) for column in row["columns"]),
        rows=row["rows"],
        notes=tuple(row["notes"]),
        fault=row["fault"],
    )


def column_to_row(column: ColumnProfile) -> dict[str, Any]:
    """A column's profile as it travels.

    Args:
        column: What it says.

    Returns:
        A value of `COLUMN`.
    """
    return {**asdict(column), "path": column.id.path, "type": column.type.value}


def column_from_row(table: Table, row: Mapping[str, Any]) -> ColumnProfile:
    """A column's profile as it was.

    Args:
        table: The column's table.
        row: A value of `COLUMN`.

    Returns:
        Its profile.
    """
    facts = dict(row)
    return ColumnProfile(
        id=ColumnId(table.id, facts.pop("path")),
        type=DataType(facts.pop("type")),
        sample=tuple(facts.pop("sample")),
        counts=tuple(facts.pop("counts")),
        lengths=Lengths(**facts.pop("lengths")),
        patterns=tuple(Pattern(**pattern) for pattern in facts.pop("patterns")),
        **facts,
    )
