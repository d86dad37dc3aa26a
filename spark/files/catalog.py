"""Read the files of a table in a Spark catalog, with the columns that the catalog lists.

Spark returns the columns of the catalog, whatever is in a file: those that it lacks are null, and
further ones are left out. Where types differ, it converts values. The conversions that leave all
texts as they are are made here; any other difference is an error, and Spark reads the table.
"""

from collections.abc import Collection, Generator, Mapping
from contextlib import closing
from datetime import date
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import CatalogFiles, File
from datahub_hyperjoin.spark.columns import TableStream, choose_columns, readable_paths
from datahub_hyperjoin.spark.errors import EmptyTableError, UnlikeCatalogError
from datahub_hyperjoin.spark.files.folder import OpenFile, read_folder
from datahub_hyperjoin.spark.files.nested import leaf_columns

_OLDEST = {pa.types.is_date: date(1582, 10, 15), pa.types.is_timestamp: date(1900, 1, 1)}
"""The oldest date and timestamp that are reliable: old versions of Spark wrote older values in
another calendar or time zone."""


def read_catalog_files(
    files: CatalogFiles, paths: Collection[str] | None, *, open_file: OpenFile
) -> TableStream:
    """Open the files of a Spark catalog table as one stream, to read the columns in `paths`.

    Args:
        paths: Paths of the columns to read; all if None.

    Returns:
        The table being read, with the columns of the catalog; those of partitions are the last.
    """
    schema = pa.ipc.read_schema(pa.py_buffer(files.schema))
    return read_folder(files.folder, paths, open_file=partial(_open_as, schema, open_file))


def _open_as(
    schema: pa.Schema, open_file: OpenFile, file: File, paths: Collection[str] | None
) -> TableStream:
    columns, notes = choose_columns(leaf_columns(schema), paths)
    names = readable_paths(columns)
    try:
        stream = open_file(file, names)
        found = readable_paths(stream.columns)
        if len(found) < len(names):
            _check_missing(open_file(file, None), schema, {*names} - {*found})
        if names and not found:
            # Without a column, the rows could not be counted.
            stream = open_file(file, None)
    except EmptyTableError:
        raise
    except TableError as error:
        raise UnlikeCatalogError.unreadable(error) from error
    binary = {column.path for column in columns if column.is_binary}
    in_file = {
        column.path for column in stream.columns if column.is_binary and column.path in names
    }
    if differing := binary.intersection(found) ^ in_file:
        raise UnlikeCatalogError.in_columns(differing)
    types = {
        # Bytes arrive as hexadecimal digits.
        path: pa.string() if path in binary else type_
        for path, type_ in _leaf_types(schema).items()
        if path in names
    }
    return TableStream(columns, _conformed(stream, types), notes, stream.extent)


def _check_missing(whole: TableStream, schema: pa.Schema, missing: Collection[str]) -> None:
    """Raise an error if a file may contain the missing columns under other names.

    A column with another name may be the missing one: old versions of Hive number the columns of
    ORC files, and Spark ignores the case of names.
    """
    whole.batches.close()
    known = {column.path: column.opaque for column in leaf_columns(schema)}
    in_file = {column.path: column.opaque for column in whole.columns}
    others = [path for path in in_file if path not in known or path in missing]
    # Spark returns a struct as null, and not its members, if it has none of them.
    if others or not in_file or any("." in path for path in missing):
        raise UnlikeCatalogError.in_columns([*others, *missing])


def _leaf_types(fields: pa.Schema | pa.StructType, prefix: str = "") -> dict[str, pa.DataType]:
    types: dict[str, pa.DataType] = {}
    for field in fields:
        if pa.types.is_struct(field.type):
            types |= _leaf_types(field.type, f"{prefix}{field.name}.")
        else:
            types[f"{prefix}{field.name}"] = field.type
    return types


def _conformed(
    stream: TableStream, types: Mapping[str, pa.DataType]
) -> Generator[pa.RecordBatch, None, None]:
    try:
        with closing(stream.batches) as batches:
            for batch in batches:
                arrays = dict(zip(batch.schema.names, batch.columns, strict=True))
                columns = [
                    _as_type(path, arrays[path], type_)
                    if path in arrays
                    else pa.nulls(len(batch), type_)
                    for path, type_ in types.items()
                ]
                # Without columns, Arrow would forget the number of rows.
                yield (
                    pa.RecordBatch.from_arrays(columns, names=[*types])
                    if types
                    else batch.select([])
                )
    except EmptyTableError:
        raise
    except TableError as error:
        raise UnlikeCatalogError.unreadable(error) from error


def _as_type(path: str, column: pa.Array, type_: pa.DataType) -> pa.Array:
    """Convert a column to its catalog type; raise an error if Spark would return other values."""
    _check_age(path, column)
    if _has_same_texts(column.type, type_):
        return column
    if pa.types.is_float32(column.type) and pa.types.is_float64(type_):
        return column.cast(type_)
    # Spark writes points in time as Hive and Impala do, and Arrow reads these as nanoseconds.
    if pa.types.is_timestamp(column.type) and pa.types.is_timestamp(type_):
        is_zoned, is_legacy = bool(column.type.tz), column.type == pa.timestamp("ns")
        if is_zoned == bool(type_.tz) or (is_legacy and type_.tz):
            return column.cast(pa.timestamp(type_.unit, column.type.tz), safe=False)
    raise UnlikeCatalogError.in_columns([path])


def _has_same_texts(own: pa.DataType, type_: pa.DataType) -> bool:
    if own == type_:
        return True
    if pa.types.is_signed_integer(own) and pa.types.is_signed_integer(type_):
        return bool(own.bit_width <= type_.bit_width)
    if pa.types.is_decimal(own) and pa.types.is_decimal(type_):
        return bool(own.scale == type_.scale and own.precision <= type_.precision)
    return pa.types.is_large_string(own) and pa.types.is_string(type_)


def _check_age(path: str, column: pa.Array) -> None:
    for has_type, oldest in _OLDEST.items():
        if has_type(column.type) and len(column):
            first = pc.min(column.cast(pa.date32(), safe=False)).as_py()
            if first is not None and first < oldest:
                raise UnlikeCatalogError.in_columns([path])
