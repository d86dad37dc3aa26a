"""Flatten nested schemas and rows, so that each member of a struct becomes a column."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from datahub_hyperjoin.arrow_bytes import hex_digits
from datahub_hyperjoin.spark.columns import Column, column_names
from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.tables import DataType

_IS_BINARY = (
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
    pa.types.is_binary_view,
)


@contextmanager
def translate_read_errors(*errors: type[Exception]) -> Iterator[None]:
    """Convert read errors in a `with` block to `UnreadableTableError`."""
    # These are errors of Arrow and of the operating system.
    try:
        yield
    except (pa.ArrowInvalid, OSError, *errors) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        raise UnreadableTableError.because(lines[0]) from error


def leaf_columns(schema: pa.Schema) -> list[Column]:
    """List the columns of a schema, with structs replaced by their members; lists are opaque."""
    columns = list[Column]()
    for position, (leaf, type_) in enumerate(leaf_types(schema)):
        is_nested = pa.types.is_nested(getattr(type_, "storage_type", type_))
        opaque = DataType.NESTED if is_nested else None
        columns.append(Column(leaf, position, opaque, is_binary=_holds_bytes(type_)))
    return columns


def top_level_fields(schema: pa.Schema, paths: Sequence[str]) -> list[str]:
    """List the top-level fields that contain the given columns: a struct is read whole."""
    if has_made_up_names(schema):
        return schema.names
    return [
        name
        for name in schema.names
        # The name of a field may itself contain a dot.
        if any(path == name or path.startswith(f"{name}.") for path in paths)
    ]


def has_made_up_names(schema: pa.Schema) -> bool:
    """Return whether a column is called other than in the schema, so that all must be read."""
    names = [path for path, _ in leaf_types(schema)]
    return column_names(names) != names


def flatten(batch: pa.RecordBatch, paths: Sequence[str]) -> pa.RecordBatch:
    """Return the given columns of a batch, with each struct replaced by its members."""
    if not paths:
        return batch.select([])
    members = [
        each
        for field, array in zip(batch.schema, batch.columns, strict=True)
        for each in _members(field.name, array)
    ]
    names = column_names([path for path, _ in members])
    arrays = dict(zip(names, (array for _, array in members), strict=True))
    return pa.RecordBatch.from_arrays([arrays[path] for path in paths], names=list(paths))


def leaf_types(
    fields: pa.Schema | pa.StructType, prefix: str = ""
) -> Iterator[tuple[str, pa.DataType]]:
    """Yield the path and the type of each field, with structs replaced by their members."""
    for field in fields:
        type_ = getattr(field.type, "storage_type", field.type)
        if pa.types.is_struct(type_):
            yield from leaf_types(type_, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", field.type


def _members(path: str, array: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    if _is_uuid(array.type):
        yield path, pa.array([value and str(value) for value in array.to_pylist()], pa.string())
    elif isinstance(array, pa.ExtensionArray):
        yield from _members(path, array.storage)
    elif pa.types.is_struct(array.type):
        for field, member in zip(array.type, array.flatten(), strict=True):
            yield from _members(f"{path}.{field.name}", member)
    elif pa.types.is_dictionary(array.type):
        # Its size would not show in that of the batch.
        yield from _members(path, array.dictionary_decode())
    elif _holds_bytes(array.type):
        yield path, hex_digits(array)
    else:
        yield path, array


def _holds_bytes(type_: pa.DataType) -> bool:
    if pa.types.is_dictionary(type_):
        return _holds_bytes(type_.value_type)
    stored = getattr(type_, "storage_type", type_)
    return any(is_binary(stored) for is_binary in _IS_BINARY) and not _is_uuid(type_)


def _is_uuid(type_: pa.DataType) -> bool:
    return getattr(type_, "extension_name", "") == "arrow.uuid"
