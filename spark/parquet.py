"""Reads Parquet files, the members of structs as columns of their own."""

from collections.abc import Collection, Generator, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from datahub_hyperjoin.errors import EmptyTableError, UnreadableTableError
from datahub_hyperjoin.spark.columns import Column, Reading, addressable, note_opaque, wanted
from datahub_hyperjoin.tables import DataType

_CELLS = 1 << 22
_LEAST_ROWS = 1024
_IS_BINARY = (
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
    pa.types.is_binary_view,
)


def read_parquet(path: Path, paths: Collection[str] | None) -> Reading:
    """Opens a Parquet file.

    Args:
        path: Where it is.
        paths: The columns to read; without it, all.

    Returns:
        The reading.

    Raises:
        EmptyTableError: The file is empty or has no rows.
        UnreadableTableError: The file is not Parquet.
    """
    if not path.stat().st_size:
        raise EmptyTableError.without_content()
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as fault:
        raise UnreadableTableError.because(str(fault).splitlines()[0]) from fault
    notes: list[str] = []
    leaves = [
        Column(leaf, position, opaque)
        for position, (leaf, opaque) in enumerate(_leaves(file.schema_arrow))
    ]
    columns = wanted(addressable(leaves, notes), paths)
    note_opaque(columns, notes)
    return Reading(columns, _batches(file, columns), notes)


def _leaves(
    fields: pa.Schema | pa.StructType, above: str = ""
) -> Iterator[tuple[str, DataType | None]]:
    for field in fields:
        path = f"{above}{field.name}"
        type_ = getattr(field.type, "storage_type", field.type)
        if pa.types.is_struct(type_):
            yield from _leaves(type_, f"{path}.")
        elif pa.types.is_nested(type_):
            yield path, DataType.NESTED
        elif any(is_binary(type_) for is_binary in _IS_BINARY) and not _is_uuid(field.type):
            yield path, DataType.BINARY
        else:
            yield path, None


def _batches(
    file: pq.ParquetFile, columns: tuple[Column, ...]
) -> Generator[pa.RecordBatch, None, None]:
    paths = [column.path for column in columns if not column.opaque]
    with file:
        try:
            for batch in file.iter_batches(
                max(_LEAST_ROWS, _CELLS // max(1, len(paths))), columns=paths, use_threads=False
            ):
                yield _flat(batch, paths) if paths else batch
        except (pa.ArrowInvalid, OSError) as fault:
            raise UnreadableTableError.because(str(fault).splitlines()[0]) from fault


def _flat(batch: pa.RecordBatch, paths: list[str]) -> pa.RecordBatch:
    arrays = {
        path: member
        for field, array in zip(batch.schema, batch.columns, strict=True)
        for path, member in _members(field.name, array)
    }
    return pa.RecordBatch.from_arrays([arrays[path] for path in paths], names=paths)


def _members(path: str, array: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    if _is_uuid(array.type):
        yield path, pa.array([value and str(value) for value in array.to_pylist()], pa.string())
    elif pa.types.is_struct(array.type):
        for field, member in zip(array.type, array.flatten(), strict=True):
            yield from _members(f"{path}.{field.name}", member)
    else:
        yield path, array


def _is_uuid(type_: pa.DataType) -> bool:
    return getattr(type_, "extension_name", "") == "arrow.uuid"
