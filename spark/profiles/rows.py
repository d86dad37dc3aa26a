"""Profiles as rows of Arrow, in which they travel and are kept.

Lakes have many columns: rows are written and read a fact at a time, each of all of them at once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, pairwise
from operator import attrgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.arrow_bytes import bounds_of
from datahub_hyperjoin.tables import (
    ColumnId,
    ColumnProfile,
    DataType,
    Lengths,
    Pattern,
    Table,
    TableId,
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


def from_rows(tables: Iterable[Table], rows: pa.RecordBatch) -> list[TableProfile]:
    """Profiles as they were.

    Args:
        tables: One for each row.
        rows: With the columns of `PROFILE_ROW`.

    Returns:
        As many profiles.
    """
    bounds = [*pairwise(_bounds(rows["columns"]))]
    others = (_listed(rows[name]) for name in ("rows", "notes", "fault"))
    facts = [*zip(tables, bounds, *others, strict=True)]
    owners = (table.id for table, (begin, end), *_ in facts for _ in range(begin, end))
    columns = _columns(owners, rows["columns"].flatten())
    return [
        TableProfile(
            table=table, columns=tuple(columns[begin:end]), rows=count, notes=notes, fault=fault
        )
        for table, (begin, end), count, notes, fault in facts
    ]


def _columns(tables: Iterable[TableId], rows: pa.StructArray) -> list[ColumnProfile]:
    facts = zip(tables, *map(_listed, rows.flatten()), strict=True)
    return [
        ColumnProfile(
            id=ColumnId(table, path),
            position=position,
            type=_TYPES[type_],
            rows=count,
            nulls=nulls,
            distinct=distinct,
            sketch=sketch,
            sample=sample,
            counts=counts,
            lengths=Lengths(**lengths),
            patterns=tuple([Pattern(**pattern) for pattern in patterns]),
        )
        for (
            table,
            path,
            position,
            type_,
            count,
            nulls,
            distinct,
            sketch,
            sample,
            counts,
            lengths,
            patterns,
        ) in facts
    ]


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
    """The values as Python has them: as Arrow's `to_pylist`, sooner, and lists are tuples."""
    if pa.types.is_list(array.type):
        items = _listed(array.flatten())
        return [tuple(items[begin:end]) for begin, end in pairwise(_bounds(array))]
    if pa.types.is_struct(array.type):
        names = [field.name for field in array.type]
        facts = zip(*map(_listed, array.flatten()), strict=True)
        return [dict(zip(names, each, strict=True)) for each in facts]
    return array.to_pylist()


def _bounds(lists: pa.ListArray) -> list[int]:
    return bounds_of(pc.list_value_length(lists)).tolist()
