"""Profiles as rows of Arrow, in which they travel and are kept.

Lakes have many columns: rows are written and read a fact at a time, each of all of them at once.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, pairwise
from operator import attrgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.strings import bounds_of
from datahub_hyperjoin.tables import (
    ColumnId,
    ColumnProfile,
    DataType,
    Lengths,
    Pattern,
    Table,
    TableProfile,
)

_COLUMN = pa.struct(
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
        "rows": pa.int64(),
        "notes": pa.list_(pa.string()),
        "fault": pa.string(),
        "columns": pa.list_(_COLUMN),
    }
)

_TYPES = {type_.value: type_ for type_ in DataType}
_READ: Mapping[str, Callable[[ColumnProfile], object]] = {
    "path": lambda column: column.id.path,
    "type": lambda column: column.type.value,
}
"""Facts that a profile has under another name."""


def to_rows(profiles: Sequence[TableProfile]) -> pa.RecordBatch:
    """Profiles as they travel.

    Args:
        profiles: What they say.

    Returns:
        A row of `PROFILE_ROW` for each.
    """
    return pa.RecordBatch.from_struct_array(_array(profiles, pa.struct(list(PROFILE_ROW))))


def list_rows(rows: pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows as Python has them: as Arrow's `to_pylist`, sooner, and lists are tuples.

    Args:
        rows: Of any schema.

    Returns:
        The rows.

    Examples:
        >>> list_rows(pa.RecordBatch.from_pylist([{"sizes": [1, 2], "at": {"x": 3}}]))
        [{'sizes': (1, 2), 'at': {'x': 3}}]
    """
    return _listed(rows.to_struct_array())


def from_row(table: Table, row: Mapping[str, Any]) -> TableProfile:
    """A profile as it was.

    Args:
        table: Which table.
        row: A row of `PROFILE_ROW`.

    Returns:
        Its profile.
    """
    return TableProfile(
        table=table,
        columns=tuple(_column_from_row(table, column) for column in row["columns"]),
        rows=row["rows"],
        notes=row["notes"],
        fault=row["fault"],
    )


def _column_from_row(table: Table, row: Mapping[str, Any]) -> ColumnProfile:
    return ColumnProfile(
        id=ColumnId(table.id, row["path"]),
        position=row["position"],
        type=_TYPES[row["type"]],
        rows=row["rows"],
        nulls=row["nulls"],
        distinct=row["distinct"],
        sketch=row["sketch"],
        sample=row["sample"],
        counts=row["counts"],
        lengths=Lengths(**row["lengths"]),
        patterns=tuple(Pattern(**pattern) for pattern in row["patterns"]),
    )


def _array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    if pa.types.is_list(type_):
        items = _array([*chain.from_iterable(values)], type_.value_type)
        return pa.ListArray.from_arrays(bounds_of([*map(len, values)]), items, type=type_)
    if pa.types.is_struct(type_):
        facts = [
            _array([*map(_READ.get(field.name, attrgetter(field.name)), values)], field.type)
            for field in type_
        ]
        return pa.StructArray.from_arrays(facts, fields=list(type_))
    return pa.array(values, type_)


def _listed(array: pa.Array) -> list[Any]:
    if pa.types.is_list(array.type):
        items = _listed(array.flatten())
        bounds = bounds_of(pc.list_value_length(array)).tolist()
        return [tuple(items[begin:end]) for begin, end in pairwise(bounds)]
    if pa.types.is_struct(array.type):
        names = [field.name for field in array.type]
        facts = zip(*map(_listed, array.flatten()), strict=True)
        return [dict(zip(names, each, strict=True)) for each in facts]
    return array.to_pylist()
