"""Flatten nested schemas and rows, so that each member of a struct becomes a column.

A list of texts or of whole numbers is read as text, such as `[a, b]`, so that its elements can be
compared.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc

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

_ELEMENTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer)
LIST_MARK = ", "
"""What stands between the elements of a list in its text."""


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
        is_list = _is_list(type_)
        opaque = DataType.NESTED if is_nested and not is_list else None
        is_binary = holds_bytes(type_)
        columns.append(Column(leaf, position, opaque, is_binary=is_binary, is_list=is_list))
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
    # Nearly all are, and files are read in many small batches.
    if pa.types.is_primitive(array.type) or pa.types.is_string(array.type):
        yield path, array
    elif _is_uuid(array.type):
        yield path, pa.array([value and str(value) for value in array.to_pylist()], pa.string())
    elif isinstance(array, pa.ExtensionArray):
        yield from _members(path, array.storage)
    elif pa.types.is_struct(array.type):
        for field, member in zip(array.type, array.flatten(), strict=True):
            yield from _members(f"{path}.{field.name}", member)
    elif pa.types.is_dictionary(array.type):
        # Its size would not show in that of the batch.
        yield from _members(path, array.dictionary_decode())
    else:
        yield path, _comparable(array)


def _comparable(array: pa.Array) -> pa.Array:
    if holds_bytes(array.type):
        return hex_digits(array)
    return _texts_of_lists(array) if _is_list(array.type) else array


def _is_list(type_: pa.DataType) -> bool:
    is_list = pa.types.is_list(type_) or pa.types.is_large_list(type_)
    return is_list and any(each(type_.value_type) for each in _ELEMENTS)


def _texts_of_lists(lists: pa.Array) -> pa.Array:
    # Without elements, there is nothing to compare; a null within a list is no element.
    texts = pc.fill_null(lists.values.cast(pa.string()), "")
    whole = type(lists).from_arrays(lists.offsets, texts)
    joined = pc.binary_join(whole, LIST_MARK)
    is_filled = pc.and_(lists.is_valid(), pc.greater(pc.list_value_length(whole), 0))
    written = pc.binary_join_element_wise("[", joined, "]", "")
    return pc.if_else(is_filled, written, None)


def text_of_list(values: Sequence[object]) -> str | None:
    """Write a list as text; None if it is empty or has elements that are not compared.

    >>> text_of_list(["a", None, "b"]), text_of_list([1, 2]), text_of_list([]), text_of_list([[1]])
    ('[a, , b]', '[1, 2]', None, None)
    """
    if not values or any(
        isinstance(each, bool) or not isinstance(each, str | int | None) for each in values
    ):
        return None
    return f"[{LIST_MARK.join('' if each is None else str(each) for each in values)}]"


def holds_bytes(type_: pa.DataType) -> bool:
    """Return whether values of a type are bytes that are read as hexadecimal digits."""
    if pa.types.is_dictionary(type_):
        return holds_bytes(type_.value_type)
    stored = getattr(type_, "storage_type", type_)
    return any(is_binary(stored) for is_binary in _IS_BINARY) and not _is_uuid(type_)


def _is_uuid(type_: pa.DataType) -> bool:
    return getattr(type_, "extension_name", "") == "arrow.uuid"
