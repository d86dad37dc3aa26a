"""Files that say what their columns are: the members of structs as columns of their own."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from datahub_hyperjoin.errors import UnreadableTableError
from datahub_hyperjoin.spark.columns import Column
from datahub_hyperjoin.tables import DataType

_IS_BINARY = (
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
    pa.types.is_binary_view,
)


@contextmanager
def parsing(*faults: type[Exception]) -> Iterator[None]:
    """Says that a table cannot be read, when Arrow or the system says so.

    Args:
        faults: Further errors that mean the same.

    Raises:
        UnreadableTableError: With the first line of what was said.
    """
    try:
        yield
    except (pa.ArrowInvalid, OSError, *faults) as fault:
        said = str(fault).splitlines() or [type(fault).__name__]
        raise UnreadableTableError.because(said[0]) from fault


def leaves_of(schema: pa.Schema) -> list[Column]:
    """The columns of a schema, those of its structs included.

    Args:
        schema: What a file says of its columns.

    Returns:
        Columns by their paths; what holds lists, maps or bytes has no values.
    """
    return [
        Column(leaf, position, opaque) for position, (leaf, opaque) in enumerate(_leaves(schema))
    ]


def fields_of(schema: pa.Schema, paths: Sequence[str]) -> list[str]:
    """The fields that columns stand in: members of structs come with the whole struct.

    Args:
        schema: What a file says of its columns.
        paths: The columns wanted.

    Returns:
        Names of fields, in the file's order.
    """
    return [
        name
        for name in schema.names
        # A name may have a dot of its own.
        if any(path == name or path.startswith(f"{name}.") for path in paths)
    ]


def flatten(batch: pa.RecordBatch, paths: Sequence[str]) -> pa.RecordBatch:
    """Rows with a column a path.

    Args:
        batch: Rows as a file has them.
        paths: The columns wanted; without any, the rows count all the same.

    Returns:
        As many rows.
    """
    if not paths:
        return batch.select([])
    arrays = {
        path: member
        for field, array in zip(batch.schema, batch.columns, strict=True)
        for path, member in _members(field.name, array)
    }
    return pa.RecordBatch.from_arrays([arrays[path] for path in paths], names=list(paths))


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
