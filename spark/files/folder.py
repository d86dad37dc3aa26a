"""Read a table that is stored as a folder of files."""

import re
import zlib
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import File, Folder
from datahub_hyperjoin.spark.columns import (
    Column,
    RowEstimate,
    TableStream,
    readable_paths,
    requested_columns,
)
from datahub_hyperjoin.spark.errors import EmptyTableError
from datahub_hyperjoin.spark.files.stored import sizes_in_store

_PARTITION_FOLDER = re.compile(r"([^/=]+)=([^/]*)/")
NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The value in a partition folder's name that represents null."""
_MOST_NOTES = 3
"""Maximum number of notes that are passed on from the single files of a table."""

OpenFile = Callable[[File, Collection[str] | None], TableStream]


class _FileToRead(NamedTuple):
    """A file of a table, with the function that opens the file."""

    path: str
    size: int
    """Size in bytes; 0 if it is not known."""
    open: Callable[[], TableStream]


def read_folder(
    folder: Folder,
    paths: Collection[str] | None,
    *,
    open_file: OpenFile,
    parts: Collection[str] | None = None,
) -> TableStream:
    """Open a folder of files as one table.

    Files are read in a pseudo-random order that is the same in every run. The first rows are then
    of all months or countries and not only of the first ones. The first readable file determines
    the columns.

    Args:
        paths: Paths of the columns to read; all if None.
        parts: Paths of the files to read, relative to the folder; all if None.

    Returns:
        The table being read; the partition keys are its last columns.
    """
    ordered = reading_order(folder)
    first = _open_first(folder, ordered, open_file)
    file_columns = readable_paths(first.columns)
    keys = [key for key in partition_keys(ordered[0]) if key not in file_columns]
    key_columns = [Column(key, len(first.columns) + index) for index, key in enumerate(keys)]
    columns = requested_columns([*first.columns, *key_columns], paths)
    names = readable_paths(columns)
    # If only partition keys are requested, one column is read to count the rows.
    names_in_file = [name for name in names if name in file_columns] or file_columns[:1]
    notes, extent = [*first.notes], RowEstimate()
    chosen = ordered if parts is None else [part for part in ordered if part in parts]
    files = [
        _FileToRead(part, size, partial(open_file, _file(folder, part), names_in_file))
        for part, size in zip(chosen, _sizes(folder, chosen), strict=True)
    ]
    return TableStream(columns, _batches(files, names, notes, extent), notes, extent)


def reading_order(folder: Folder) -> list[str]:
    """Return the files of a folder in a pseudo-random order that never changes.

    Returns:
        Paths of the files, in the same order in every run.
    """
    return sorted(folder.parts, key=lambda part: (zlib.crc32(part.encode()), part))


def partition_keys(part: str) -> dict[str, str | None]:
    """Parse the partition keys in a file's path.

    Returns:
        The value of each key.

    >>> partition_keys("year=2024/city=S%C3%A3o Paulo/part-0.parquet")
    {'year': '2024', 'city': 'São Paulo'}
    >>> partition_keys("year=__HIVE_DEFAULT_PARTITION__/0.csv"), partition_keys("0.csv")
    ({'year': None}, {})
    """
    pairs = ((unquote(key), unquote(value)) for key, value in _PARTITION_FOLDER.findall(part))
    return {key: None if value == NULL_PARTITION else value for key, value in pairs}


def _open_first(folder: Folder, parts: Sequence[str], open_file: OpenFile) -> TableStream:
    """Return the columns and notes of the first readable file, as a stream without rows."""
    errors = []
    for part in parts:
        try:
            stream = open_file(_file(folder, part), None)
        except TableError as error:  # noqa: PERF203 (any file may be the first readable one)
            errors.append(error)
        else:
            stream.batches.close()
            return stream
    raise errors[0]


def _file(folder: Folder, part: str) -> File:
    return File(
        uri=f"{folder.uri}/{part}",
        format=folder.format,
        dialect=folder.dialect,
        store=folder.store,
    )


def _sizes(folder: Folder, parts: Sequence[str]) -> list[int]:
    if folder.store:
        return sizes_in_store(folder.uri, parts, folder.store)
    paths = [Path(folder.uri, part) for part in parts]
    return [path.stat().st_size if path.exists() else 0 for path in paths]


def _batches(
    files: Sequence[_FileToRead], names: Sequence[str], notes: list[str], extent: RowEstimate
) -> Generator[pa.RecordBatch, None, None]:
    """Read the rows of all files in a folder, file by file.

    After each batch, the table's row count is estimated: the rows read so far, divided by the
    share of the bytes that they take. Within a file, that share follows its own row estimate.
    """
    distinct_notes = dict.fromkeys(notes)
    skipped: list[str] = []
    total_bytes, bytes_before, rows_before = sum(file.size for file in files), 0, 0
    for file in files:
        keys, rows = partition_keys(file.path), 0
        try:
            stream = file.open()
            with closing(stream.batches) as batches:
                for batch in batches:
                    rows += len(batch)
                    share_of_file = rows / max(stream.extent.rows, rows, 1)
                    bytes_read = bytes_before + file.size * share_of_file
                    extent.rows = (rows_before + rows) * total_bytes / max(bytes_read, 1)
                    yield _with_columns(batch, names, keys)
            distinct_notes.update(dict.fromkeys(stream.notes))
        # Writers often leave empty files behind, which is no fault of the table.
        except EmptyTableError:
            continue
        except TableError as error:
            skipped.append(f"{file.path} {error}")
        finally:
            bytes_before, rows_before = bytes_before + file.size, rows_before + rows
    notes[:] = [*distinct_notes][:_MOST_NOTES]
    if skipped:
        notes.append(f"skipped files: {len(skipped)}, for example {skipped[0]}")


def _with_columns(
    batch: pa.RecordBatch, names: Sequence[str], keys: Mapping[str, str | None]
) -> pa.RecordBatch:
    """Select the columns `names` from a file's batch of rows, and fill columns that the file lacks.

    `keys` maps each partition key to its value, which fills the key's column. Other missing columns
    are null.
    """
    arrays_of_file = dict(zip(batch.schema.names, batch.columns, strict=True))
    arrays = [
        arrays_of_file[name]
        if name in arrays_of_file
        else pa.array([keys.get(name)] * len(batch), pa.string())
        for name in names
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(names))
