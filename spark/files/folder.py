"""Read a table that is stored as a folder of files, also one that a Spark catalog describes."""

import re
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing, suppress
from datetime import date
from functools import partial
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import CatalogFiles, File, Folder
from datahub_hyperjoin.spark.columns import (
    Batches,
    Column,
    Paths,
    RowEstimate,
    TableStream,
    choose_columns,
    readable_paths,
    requested_columns,
)
from datahub_hyperjoin.spark.errors import EmptyTableError, UnlikeCatalogError
from datahub_hyperjoin.spark.files.formats import format_of, read_file
from datahub_hyperjoin.spark.files.nested import leaf_columns, leaf_types
from datahub_hyperjoin.spark.files.stored import sizes_in_store

_PARTITION_FOLDER = re.compile(r"([^/=]+)=([^/]*)/")
NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The value in a partition folder's name that represents null."""
_MOST_NOTES = 3

OpenFile = Callable[[File, Collection[str] | None], TableStream]


def read_folder(
    folder: Folder,
    paths: Paths,
    *,
    open_file: OpenFile = read_file,
    parts: Collection[str] | None = None,
) -> TableStream:
    """Open a folder of files as one table."""
    # The partition keys are its last columns; the newest file, or the first readable one,
    # determines the others. Files are read in a pseudo-random order that is the same in every run.
    # The first rows are then of all months or countries and not only of the first ones.
    ordered = reading_order(folder)
    first = _open_first(folder, open_file)
    file_columns = readable_paths(first.columns)
    keys = [key for key in partition_keys(ordered[0]) if key not in file_columns]
    key_columns = [Column(key, len(first.columns) + index) for index, key in enumerate(keys)]
    columns = requested_columns([*first.columns, *key_columns], paths)
    names = readable_paths(columns)
    # If only partition keys are requested, one column is read to count the rows.
    names_in_file = [name for name in names if name in file_columns] or file_columns[:1]
    notes, extent = [*first.notes], RowEstimate()
    chosen = ordered if parts is None else [part for part in ordered if part in parts]
    files = dict(zip(chosen, _sizes(folder, chosen), strict=True))

    def opened(part: str) -> TableStream:
        return _open_in_any_case(file_of(folder, part), names_in_file, open_file)

    return TableStream(columns, _batches(files, opened, names, notes, extent), notes, extent)


def _open_in_any_case(file: File, names: Sequence[str], open_file: OpenFile) -> TableStream:
    """Open a file to read some columns, also if it writes their names in another case."""
    stream, found = None, 0
    with suppress(TableError):  # without any of these names, or unreadable
        stream = open_file(file, names)
        found = len(readable_paths(stream.columns))
        if found == len(names):
            return stream
    whole, folded = open_file(file, None), {name.casefold() for name in names}
    whole.batches.close()
    alike = [path for path in readable_paths(whole.columns) if path.casefold() in folded]
    if stream and len(alike) == found:
        return stream
    if stream:
        stream.batches.close()
    return open_file(file, alike or names)


def reading_order(folder: Folder) -> list[str]:
    """Return the files of a folder in a pseudo-random order that never changes."""
    return sorted(folder.parts, key=lambda part: (zlib.crc32(part.encode()), part))


def partition_keys(part: str) -> dict[str, str | None]:
    """Parse the partition keys in a file's path.

    >>> partition_keys("year=2024/city=S%C3%A3o Paulo/part-0.parquet")
    {'year': '2024', 'city': 'São Paulo'}
    >>> partition_keys("year=__HIVE_DEFAULT_PARTITION__/0.csv"), partition_keys("0.csv")
    ({'year': None}, {})
    """
    pairs = ((unquote(key), unquote(value)) for key, value in _PARTITION_FOLDER.findall(part))
    return {key: None if value == NULL_PARTITION else value for key, value in pairs}


def _open_first(folder: Folder, open_file: OpenFile) -> TableStream:
    """Return the columns and notes of the first readable file, as a stream without rows."""
    errors = []
    for part in _newest_first(folder):
        try:
            stream = open_file(file_of(folder, part), None)
        except TableError as error:  # noqa: PERF203 (any file may be the first readable one)
            errors.append(error)
        else:
            stream.batches.close()
            return stream
    raise errors[0]


def _newest_first(folder: Folder) -> list[str]:
    def is_older(part: str) -> bool:
        return not f"{part}/".startswith(f"{folder.newest}/")

    return sorted(reading_order(folder), key=is_older)


def first_file(folder: Folder) -> File:
    """Return the file whose columns the table has."""
    return file_of(folder, _newest_first(folder)[0])


def file_of(folder: Folder, part: str) -> File:
    """Return the file, or the member of a file, that is a part of a table."""
    member: tuple[str, ...] = ()
    if format_of(folder).has_members:
        part, _, name = part.rpartition("/")
        member = (name,)
    return File(
        uri=f"{folder.uri}/{part}",
        format=folder.format,
        member=member,
        dialect=folder.dialect,
        store=folder.store,
    )


def _sizes(folder: Folder, parts: Sequence[str]) -> list[int]:
    if folder.store:
        return sizes_in_store(folder.uri, parts, folder.store)
    paths = [Path(file_of(folder, part).uri) for part in parts]
    return [path.stat().st_size if path.exists() else 0 for path in paths]


def _batches(
    files: Mapping[str, int],
    opened: Callable[[str], TableStream],
    names: Sequence[str],
    notes: list[str],
    extent: RowEstimate,
) -> Batches:
    """Read the rows of all files in a folder, given by their sizes, file by file."""
    # After each batch, the table's row count is estimated: the rows read so far, divided by the
    # share of the bytes that they take. Within a file, that share follows its own row estimate.
    distinct_notes = dict.fromkeys(notes)
    skipped: list[str] = []
    total_bytes, bytes_before, rows_before = sum(files.values()), 0, 0
    for part, size in files.items():
        keys, rows = partition_keys(part), 0
        try:
            stream = opened(part)
            with closing(stream.batches) as batches:
                for batch in batches:
                    rows += len(batch)
                    share_of_file = rows / max(stream.extent.rows, rows, 1)
                    bytes_read = bytes_before + size * share_of_file
                    extent.rows = (rows_before + rows) * total_bytes / max(bytes_read, 1)
                    yield _with_columns(batch, names, keys)
            distinct_notes.update(dict.fromkeys(stream.notes))
        # Writers often leave empty files behind, which is no fault of the table.
        except EmptyTableError:
            continue
        except TableError as error:
            skipped.append(f"{part} {error}")
        finally:
            bytes_before, rows_before = bytes_before + size, rows_before + rows
    notes[:] = [*distinct_notes][:_MOST_NOTES]
    if skipped:
        notes.append(f"skipped files: {len(skipped)}, for example {skipped[0]}")


def _with_columns(
    batch: pa.RecordBatch, names: Sequence[str], keys: Mapping[str, str | None]
) -> pa.RecordBatch:
    """Select the columns `names` from a batch of rows, and fill those that its file lacks."""
    # `keys` maps each partition key to its value, which fills the key's column. Other missing
    # columns are null.
    arrays_of_file = dict(zip(batch.schema.names, batch.columns, strict=True))
    in_any_case = {name.casefold(): array for name, array in arrays_of_file.items()}
    arrays = [
        arrays_of_file[name]
        if name in arrays_of_file
        else in_any_case[name.casefold()]
        if name not in keys and name.casefold() in in_any_case
        else pa.array([keys.get(name)] * len(batch), pa.string())
        for name in names
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(names))


_OLDEST = {pa.types.is_date: date(1582, 10, 15), pa.types.is_timestamp: date(1900, 1, 1)}
"""The oldest date and timestamp that are reliable: old versions of Spark wrote older values in
another calendar or time zone."""


def read_catalog_files(files: CatalogFiles, paths: Paths) -> TableStream:
    """Open the files of a Spark catalog table as one stream, to read the columns in `paths`."""
    schema = _with_texts(pa.ipc.read_schema(pa.py_buffer(files.schema)), files.folder)
    return read_folder(files.folder, paths, open_file=partial(_open_as, schema))


def _with_texts(schema: pa.Schema, folder: Folder) -> pa.Schema:
    """Turn the catalog's bytes into texts if they are text in the first file."""
    # If another file differs from the first one, Spark's own readers read the table.
    if not any(pa.types.is_binary(field.type) for field in schema):
        return schema
    texts = {each.path for each in _open_first(folder, read_file).columns if not each.is_binary}
    return pa.schema(
        field.with_type(pa.string())
        if pa.types.is_binary(field.type) and field.name in texts
        else field
        for field in schema
    )


def _open_as(schema: pa.Schema, file: File, paths: Paths) -> TableStream:
    columns, notes = choose_columns(leaf_columns(schema), paths)
    names = readable_paths(columns)
    try:
        stream = read_file(file, names)
        found = readable_paths(stream.columns)
        if len(found) < len(names):
            _check_missing(read_file(file, None), schema, {*names} - {*found})
        if names and not found:
            # Without a column, the rows could not be counted.
            stream = read_file(file, None)
    except EmptyTableError:
        raise
    except TableError as error:
        raise UnlikeCatalogError.unreadable(error) from error
    in_file = {
        column.path: _is_converted(column) for column in stream.columns if column.path in names
    }
    converted = {column.path: _is_converted(column) for column in columns}
    if differing := {path for path in in_file if in_file[path] != converted[path]}:
        raise UnlikeCatalogError.in_columns(differing)
    types = {
        path: pa.string() if any(converted[path]) else type_
        for path, type_ in leaf_types(schema)
        if path in names
    }
    return TableStream(columns, _conformed(stream, types), notes, stream.extent)


def _is_converted(column: Column) -> tuple[bool, bool]:
    """Return whether bytes arrive as hexadecimal digits, and whether lists arrive as text."""
    return column.is_binary, column.is_list


def _check_missing(whole: TableStream, schema: pa.Schema, missing: Collection[str]) -> None:
    """Raise an error if a file may contain the missing columns under other names."""
    # A column with another name may be the missing one: old versions of Hive number the columns of
    # ORC files, and Spark ignores the case of names.
    whole.batches.close()
    known = {column.path: column.opaque for column in leaf_columns(schema)}
    in_file = {column.path: column.opaque for column in whole.columns}
    others = [path for path in in_file if path not in known or path in missing]
    # Spark returns a struct as null, and not its members, if it has none of them.
    if others or not in_file or any("." in path for path in missing):
        raise UnlikeCatalogError.in_columns([*others, *missing])


def _conformed(stream: TableStream, types: Mapping[str, pa.DataType]) -> Batches:
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
                yield pa.RecordBatch.from_arrays(columns, [*types]) if types else batch.select([])
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
