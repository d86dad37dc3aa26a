"""Divide large tables of object stores into parts, so that one Spark task reads each.

Parquet files are divided between row groups, and folders of Parquet or ORC files between files.
Text is not divided: finding where its rows begin would read it once more.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow.parquet as pq

from datahub_hyperjoin.locations import File, FileFormat, Folder, TableLocation
from datahub_hyperjoin.spark.files.nested import translate_read_errors
from datahub_hyperjoin.spark.files.parquet import RowGroups
from datahub_hyperjoin.spark.files.stored import StoredFile, open_at_random

_PART_BYTES = 1 << 26
"""Approximate size of a part."""


@dataclass(frozen=True, slots=True)
class FilePart:
    """Some row groups of a Parquet file."""

    file: File
    """The file."""

    groups: RowGroups
    """The row groups."""


@dataclass(frozen=True, slots=True)
class FolderPart:
    """Some files of a table that is stored as a folder."""

    folder: Folder
    """The folder with all files of the table, the first of which determines the columns."""

    parts: tuple[str, ...]
    """Paths of the files that belong to this part, relative to the folder."""


StoredPart = FilePart | FolderPart
"""A part of a table in an object store."""


def divide_stored(location: TableLocation, size: int) -> Sequence[StoredPart]:
    """Divide a table of an object store into parts that together have all its rows.

    Args:
        location: The table's location.
        size: Size of the table in bytes.

    Returns:
        Two or more parts of about 64 MiB each; empty if one task should read the table.

    Raises:
        OSError: The store cannot be reached, or refuses.
        UnreadableTableError: The file is not a Parquet file.
    """
    match location:
        case File(store=store, format=FileFormat.PARQUET) if store:
            parts: list[StoredPart] = [*_divide_file(location, StoredFile(location.uri, store))]
        case Folder(store=store, format=FileFormat.PARQUET | FileFormat.ORC) if store:
            parts = [*_divide_folder(location, size)]
        case _:
            parts = []
    return parts if len(parts) > 1 else ()


def _divide_file(file: File, path: StoredFile) -> Iterator[FilePart]:
    with translate_read_errors(), pq.ParquetFile(open_at_random(path)) as opened:
        metadata = opened.metadata
    sizes = [metadata.row_group(at).total_byte_size for at in range(metadata.num_row_groups)]
    first, held = 0, 0
    for at, size in enumerate(sizes):
        held += size
        if held >= _PART_BYTES or at == len(sizes) - 1:
            yield FilePart(file, RowGroups(first, at + 1))
            first, held = at + 1, 0


def _divide_folder(folder: Folder, size: int) -> Iterator[FolderPart]:
    """Divide the files evenly by their number, which needs no request for their sizes."""
    count = min(max(1, -(-size // _PART_BYTES)), len(folder.parts))
    bounds = [at * len(folder.parts) // count for at in range(count + 1)]
    for start, end in itertools.pairwise(bounds):
        yield FolderPart(folder, folder.parts[start:end])
