"""Divide large tables into parts, and read one, as a Spark task does.

Parquet and ORC files of object stores are divided between row groups or stripes. Delta and Iceberg
tables, and folders of Parquet or ORC files in object stores, are divided between files. To divide
text takes a Spark job, so that is done elsewhere.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from typing_extensions import assert_never

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import (
    DeltaFolder,
    File,
    Folder,
    IcebergFolder,
    TableLocation,
    is_remote,
)
from datahub_hyperjoin.spark.columns import Paths, TableStream, with_usable_values
from datahub_hyperjoin.spark.files.byte_ranges import ByteRange
from datahub_hyperjoin.spark.files.delimited import delimited_format
from datahub_hyperjoin.spark.files.delta import list_delta_files, read_delta
from datahub_hyperjoin.spark.files.folder import read_folder
from datahub_hyperjoin.spark.files.formats import format_of, read_file
from datahub_hyperjoin.spark.files.iceberg import list_iceberg_files, read_iceberg
from datahub_hyperjoin.spark.files.stored import local_path
from datahub_hyperjoin.tables import Table, TableId

_PART_BYTES = 1 << 26


@dataclass(frozen=True, slots=True)
class FileRange:
    """A range of whole rows in a delimited text file."""

    file: File
    part: ByteRange


@dataclass(frozen=True, slots=True)
class TableItems:
    """Some row groups of a file, files of a folder, or data files of a table's snapshot."""

    location: File | Folder | DeltaFolder | IcebergFolder
    items: range | None = None
    """Indices of the items, in an order that `location` and `snapshot` determine; None for all."""

    snapshot: str = ""
    """Version of a Delta table, or metadata file of an Iceberg table."""


TablePart = FileRange | TableItems


def divide_large(
    tables: Iterable[Table], *, size: int, max_bytes: int = sys.maxsize
) -> dict[TableId, Sequence[TablePart]]:
    """Divide tables of at least `size` bytes into parts with all their rows, except text files."""
    # A table that cannot be divided has no parts: the task that reads it says what is wrong with
    # it. Only about `max_bytes` are to be read of each table.
    divided: dict[TableId, Sequence[TablePart]] = {}
    for table in tables:
        if table.size >= size:
            with suppress(TableError, OSError):
                divided[table.id] = divide_table(table.location, min(table.size, max_bytes))
    return {id_: parts for id_, parts in divided.items() if parts}


def divide_table(location: TableLocation, size: int) -> Sequence[TablePart]:
    """Divide a table into two or more parts, of each of which about 64 MiB of `size` are read."""
    # The result is empty if one task should read the table.
    parts = [*_parts(location, max(1, -(-size // _PART_BYTES)))]
    return parts if len(parts) > 1 else ()


def _parts(location: TableLocation, count: int) -> Iterator[TablePart]:
    """Divide a table into at most `count` parts of similar size."""
    snapshot = ""
    sizes: Sequence[int]
    match location:
        case File(store=store) if store:
            sizes = format_of(location).group_sizes(location)
        case Folder(store=store) if store and format_of(location).spark_reader:
            # Only a request for each file would tell their sizes.
            sizes = [1] * len(location.parts)
        case DeltaFolder(uri=uri) if not is_remote(uri):
            snapshot, sizes = list_delta_files(local_path(uri))
        case IcebergFolder(uri=uri) if not is_remote(uri):
            snapshot, sizes = list_iceberg_files(local_path(uri))
        case _:
            return
    for items in _divide_evenly(sizes, count):
        yield TableItems(location, items, snapshot)


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


def read_part(part: TablePart, paths: Paths) -> TableStream:
    """Open a part of a table, to read all columns or those in `paths`."""
    match part:
        case FileRange(file=file, part=bytes_):
            stream = delimited_format(file).read_range(file, bytes_, paths)
        case TableItems():
            stream = read_items(part, paths)
        case _:
            assert_never(part)
    return with_usable_values(stream)


def read_items(part: TableItems, paths: Paths) -> TableStream:
    """Open a file, folder or snapshot, or some of its items."""
    location, items = part.location, part.items
    match location:
        case File():
            if items is None:
                return read_file(location, paths)
            return format_of(location).read_groups(location, paths, items)
        case Folder(parts=parts):
            chosen = parts[items.start : items.stop] if items else None
            return read_folder(location, paths, parts=chosen)
        case DeltaFolder(uri=uri):
            return read_delta(local_path(uri), paths, version=part.snapshot, files=items)
        case IcebergFolder(uri=uri):
            return read_iceberg(local_path(uri), paths, metadata=part.snapshot, files=items)
        case _:
            assert_never(location)
