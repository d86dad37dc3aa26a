"""Convert profiles to Arrow rows and back, for transfer and storage.

Lakes have many columns, so rows are converted field by field, each for all profiles at once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import sha256
from itertools import chain, pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.arrow_bytes import PackedTexts, StringBytes, bounds_of
from datahub_hyperjoin.spark.memory import gc_paused
from datahub_hyperjoin.storage import temporary_folder
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
from datahub_hyperjoin.value_forms import Notation

_LENGTHS = pa.struct({"shortest": pa.int64(), "mean": pa.float64(), "longest": pa.int64()})
_PATTERN = pa.struct({"shape": pa.string(), "share": pa.float64()})
_COLUMN = pa.struct(
    {
        "path": pa.string(),
        "position": pa.int32(),
        "type": pa.string(),
        **dict.fromkeys(("rows", "nulls", "distinct"), pa.int64()),
        "sketch": pa.binary(),
        "sample": pa.list_(pa.string()),
        "counts": pa.list_(pa.int64()),
        "lengths": _LENGTHS,
        "patterns": pa.list_(_PATTERN),
        "personal": pa.string(),
        "notation": pa.string(),
        "form_sketch": pa.binary(),
        "placeholders": pa.list_(pa.string()),
        "markers": pa.list_(pa.string()),
        "marker_counts": pa.list_(pa.int64()),
    }
)
"""The fields of `ColumnProfile`, in their order."""
PROFILE_ROW = pa.schema(
    {
        "rows": pa.int64(),
        "notes": pa.list_(pa.string()),
        "fault": pa.string(),
        "columns": pa.list_(_COLUMN),
    }
)
"""A table profile, without the table itself."""

_CLASSES: Mapping[pa.DataType, Callable[..., object]] = {_LENGTHS: Lengths, _PATTERN: Pattern}
_TYPES = {type_.value: type_ for type_ in DataType}
_NOTATIONS = {notation.value: notation for notation in Notation}
_GETTERS: Mapping[str, Callable[[ColumnProfile], object]] = {
    "path": lambda column: column.id.path,
    "type": lambda column: column.type.value,
    "notation": lambda column: column.notation and column.notation.value,
}
"""Functions that compute the stored fields which a profile itself lacks or holds as an enum."""


def to_rows(profiles: Sequence[TableProfile]) -> pa.RecordBatch:
    """Convert profiles to Arrow rows."""
    return pa.RecordBatch.from_struct_array(_to_array(profiles, pa.struct(list(PROFILE_ROW))))


def from_rows(tables: Iterable[Table], rows: pa.RecordBatch) -> list[TableProfile]:
    """Convert Arrow rows to profiles."""
    bounds = [*pairwise(_bounds(rows["columns"]))]
    others = (_to_list(rows[name]) for name in ("rows", "notes", "fault"))
    fields = [*zip(tables, bounds, *others, strict=True)]
    # Columns of all tables are converted in one call, and split by table afterwards.
    owners = (table.id for table, (begin, end), *_ in fields for _ in range(begin, end))
    columns = _column_profiles(owners, rows["columns"].flatten())
    return [
        TableProfile(
            table=table, columns=tuple(columns[begin:end]), rows=rows_, notes=notes, fault=fault
        )
        for table, (begin, end), rows_, notes, fault in fields
    ]


def _column_profiles(tables: Iterable[TableId], rows: pa.StructArray) -> list[ColumnProfile]:
    # Arrow's `to_pylist` would build a dict for each row.
    paths, *fields = (
        _FROM_ARROW.get(field.name, _to_list)(array)
        for field, array in zip(_COLUMN, rows.flatten(), strict=True)
    )
    return [*map(ColumnProfile, map(ColumnId, tables, paths), *fields)]


def _to_array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    if pa.types.is_list(type_):
        items = _to_array([*chain.from_iterable(values)], type_.value_type)
        return pa.ListArray.from_arrays(bounds_of([*map(len, values)]), items, type=type_)
    if pa.types.is_struct(type_):
        fields = [
            _to_array([*map(_GETTERS.get(field.name, attrgetter(field.name)), values)], field.type)
            for field in type_
        ]
        return pa.StructArray.from_arrays(fields, fields=list(type_))
    return pa.array(values, type_)


def _to_list(array: pa.Array) -> list[Any]:
    """Convert an Arrow array to a list, with tuples in it, faster than Arrow's `to_pylist`."""
    if pa.types.is_list(array.type):
        items = _to_list(array.flatten())
        return [tuple(items[begin:end]) for begin, end in pairwise(_bounds(array))]
    if pa.types.is_struct(array.type):
        return [*map(_CLASSES[array.type], *map(_to_list, array.flatten()))]
    if pa.types.is_string(array.type):
        # Columns have the same names, types and patterns: one object serves all.
        distinct = array.dictionary_encode(null_encoding="encode")
        texts = distinct.dictionary.to_pylist()
        return [texts[number] for number in distinct.indices.to_pylist()]
    return array.to_pylist()


def _to_packed(lists: pa.ListArray) -> list[PackedTexts]:
    """Convert lists of strings without creating the strings, which would take most of the time."""
    strings = StringBytes.of(lists.flatten())
    utf8, ends = strings.data.tobytes(), strings.bounds
    return [
        PackedTexts(utf8[ends[begin] : ends[end]], ends[begin + 1 : end + 1] - ends[begin])
        for begin, end in pairwise(_bounds(lists))
    ]


_FROM_ARROW: Mapping[str, Callable[[pa.Array], list[Any]]] = {
    "sample": _to_packed,
    "type": lambda types: [_TYPES[type_] for type_ in _to_list(types)],
    "notation": lambda notations: [_NOTATIONS.get(notation) for notation in _to_list(notations)],
}
"""Functions that convert the stored fields which a profile does not hold as Python's own types."""


def _bounds(lists: pa.ListArray) -> list[int]:
    return bounds_of(pc.list_value_length(lists)).tolist()


ResultFolder = Callable[[Sequence[Table]], AbstractContextManager[Path]]
"""Provides the folder for the result files of a job that profiles the given tables."""

RESULT_ROW = pa.schema({"profiles": pa.binary(), "file": pa.string()})
"""Profiles of some tables, inline or in a file."""

RESULT_FILE_ROW = pa.schema([pa.field("table", pa.int64()), *PROFILE_ROW])
"""A table's index in its job, and its profile."""

_SUFFIX = ".profiles"


def temporary_results(tables: Sequence[Table]) -> AbstractContextManager[Path]:
    """Provide a temporary folder for the results of a job."""
    del tables
    return temporary_folder()


def send_profiles(
    tables: Sequence[int], profiles: Sequence[TableProfile], folder: Path
) -> pa.RecordBatch:
    """Write profiles to a file for the driver, and return a row that names the file.

    If the file cannot be written, the row contains the profiles.
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, RESULT_FILE_ROW) as stream:
        columns = [pa.array(tables, pa.int64()), *to_rows(profiles).columns]
        stream.write_batch(pa.RecordBatch.from_arrays(columns, schema=RESULT_FILE_ROW))
    return pa.RecordBatch.from_pylist([_write(sink.getvalue(), folder)], schema=RESULT_ROW)


def receive_profiles(results: pa.Table, tables: Sequence[Table]) -> dict[int, TableProfile]:
    """Build profiles from the rows that workers returned."""
    profiles: dict[int, TableProfile] = {}
    with gc_paused():
        for inline, file in zip(results["profiles"], results["file"].to_pylist(), strict=True):
            for rows in pa.ipc.open_stream(pa.memory_map(file) if file else inline.as_buffer()):
                profiles |= _by_index(rows, tables)
    return profiles


def salvage_profiles(folder: Path, tables: Sequence[Table]) -> dict[int, TableProfile]:
    """Read the profiles that workers finished before a job failed."""
    with gc_paused():
        return dict(chain(*(_by_index(rows, tables).items() for rows in read_results(folder))))


def read_results(folder: Path) -> Iterator[pa.RecordBatch]:
    """Read all result files in a folder."""
    for file in sorted(folder.glob(f"*{_SUFFIX}")):
        content = file.read_bytes()
        if sha256(content).hexdigest() != file.stem:
            continue
        with pa.ipc.open_stream(content) as rows:
            if rows.schema.equals(RESULT_FILE_ROW):
                yield from rows


def _by_index(rows: pa.RecordBatch, tables: Sequence[Table]) -> dict[int, TableProfile]:
    indices = rows["table"].to_pylist()
    profiles = from_rows([tables[index] for index in indices], rows)
    return dict(zip(indices, profiles, strict=True))


def _write(profiles: pa.Buffer, folder: Path) -> dict[str, object]:
    # Named by its checksum, so that a file which a killed worker left unfinished is told apart.
    file = folder / f"{sha256(profiles).hexdigest()}{_SUFFIX}"
    try:
        file.touch(mode=0o600)
        file.write_bytes(profiles)
    except OSError:
        # The driver is on another machine, or the disk is full.
        return {"profiles": profiles.to_pybytes()}
    return {"file": str(file)}
