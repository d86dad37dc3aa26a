"""Divide large tables into parts, each of which one Spark task reads.

Parquet and ORC files of object stores are divided between row groups or stripes. Delta and Iceberg
tables, and folders of Parquet or ORC files in object stores, are divided between files. To divide
text takes a Spark job, so that is done elsewhere.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.file_formats import FileFormat
from datahub_hyperjoin.locations import (
    DeltaFolder,
    File,
    Folder,
    IcebergFolder,
    TableLocation,
    is_remote,
)
from datahub_hyperjoin.spark.files.byte_ranges import ByteRange
from datahub_hyperjoin.spark.files.delta import list_delta_files
from datahub_hyperjoin.spark.files.iceberg import list_iceberg_files
from datahub_hyperjoin.spark.files.nested import translate_read_errors
from datahub_hyperjoin.spark.files.orc import count_stripes
from datahub_hyperjoin.spark.files.stored import StoredFile, local_path, open_at_random
from datahub_hyperjoin.tables import Table, TableId

_PART_BYTES = 1 << 26
"""Approximate size of a part."""


@dataclass(frozen=True, slots=True)
class FileRange:
    """A range of whole rows in a delimited text file."""

    file: File
    """The file."""

    part: ByteRange
    """The range of bytes, which begins and ends with a row."""


@dataclass(frozen=True, slots=True)
class FilePart:
    """Some row groups of a Parquet file, or some stripes of an ORC file."""

    file: File
    """The file."""

    groups: range
    """Indices of the row groups or stripes."""


@dataclass(frozen=True, slots=True)
class FolderPart:
    """Some files of a table that is stored as a folder."""

    folder: Folder
    """The folder with all files of the table, the first of which determines the columns."""

    files: range
    """Indices of the files, in the order of the folder's `parts`."""


@dataclass(frozen=True, slots=True)
class DeltaPart:
    """Some data files of a local Delta table."""

    folder: DeltaFolder
    """The folder of the table."""

    version: int
    """Number of the table version to which the files belong."""

    files: range
    """Indices of the files."""


@dataclass(frozen=True, slots=True)
class IcebergPart:
    """Some data files of a local Iceberg table."""

    folder: IcebergFolder
    """The folder of the table."""

    metadata: Path
    """The metadata file whose current snapshot has the files."""

    files: range
    """Indices of the files, in the order of their paths."""


TablePart = FileRange | FilePart | FolderPart | DeltaPart | IcebergPart
"""A part of a table that many tasks read."""


def divide_large(
    tables: Iterable[Table], *, size: int, max_bytes: int = sys.maxsize
) -> dict[TableId, Sequence[TablePart]]:
    """Divide large tables into parts that together contain all rows; skip text files.

    Args:
        size: Size in bytes from which a table is divided.
        max_bytes: Approximate number of bytes to read of each table.

    Returns:
        Two or more parts of each large table that can be divided. The task that reads any other
        table also reports what is wrong with it.
    """
    divided: dict[TableId, Sequence[TablePart]] = {}
    for table in tables:
        if table.size >= size:
            with suppress(TableError, OSError):
                divided[table.id] = divide_table(table.location, min(table.size, max_bytes))
    return {id_: parts for id_, parts in divided.items() if parts}


def divide_table(location: TableLocation, size: int) -> Sequence[TablePart]:
    """Divide a table into parts that together have all its rows.

    Args:
        size: Number of bytes to read of the table: its size, or less.

    Returns:
        Two or more parts, of each of which about 64 MiB are read; empty if one task should read
        the table.
    """
    parts = [*_parts(location, max(1, -(-size // _PART_BYTES)))]
    return parts if len(parts) > 1 else ()


def _parts(location: TableLocation, count: int) -> Iterator[TablePart]:
    """Divide a table into at most `count` parts of similar size."""
    make: Callable[[range], TablePart]
    match location:
        case File(store=store) if store:
            sizes = _group_sizes(location.format, StoredFile(location.uri, store))
            make = partial(FilePart, location)
        case Folder(store=store, format=FileFormat.PARQUET | FileFormat.ORC) if store:
            # Only a request for each file would tell their sizes.
            sizes = [1] * len(location.parts)
            make = partial(FolderPart, location)
        case DeltaFolder(uri=uri) if not is_remote(uri):
            version, sizes = list_delta_files(local_path(uri))
            make = partial(DeltaPart, location, version)
        case IcebergFolder(uri=uri) if not is_remote(uri):
            metadata, sizes = list_iceberg_files(local_path(uri))
            make = partial(IcebergPart, location, metadata)
        case _:
            return
    yield from map(make, _divide_evenly(sizes, count))


def _group_sizes(layout: FileFormat, path: StoredFile) -> list[int]:
    """Return the size of each row group of a Parquet file, or 1 for each stripe of an ORC file."""
    if layout is FileFormat.ORC:
        return [1] * count_stripes(path)
    if layout is not FileFormat.PARQUET:
        return []
    with translate_read_errors(), pq.ParquetFile(open_at_random(path)) as opened:
        metadata = opened.metadata
    return [metadata.row_group(at).total_byte_size for at in range(metadata.num_row_groups)]


def _divide_evenly(sizes: Sequence[int], count: int) -> Iterator[range]:
    """Divide items of these `sizes` into at most `count` ranges of similar total size."""
    total, held, first = sum(sizes), 0, 0
    for at, size in enumerate(sizes):
        held += size
        # The run is full if the next bytes belong to another share of the total.
        if held * count // max(total, 1) > (held - size) * count // max(total, 1):
            yield range(first, at + 1)
            first = at + 1
    if first < len(sizes):
        yield range(first, len(sizes))
