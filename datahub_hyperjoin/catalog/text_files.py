"""Distinguish text files that hold rows from text files that hold prose.

Both have the same extension.
"""

import lzma
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from datahub_hyperjoin.catalog.files import TEXT, without_compression
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import ListedFile
from datahub_hyperjoin.object_stores import ObjectStore
from datahub_hyperjoin.spark.files.stored import StoredFile
from datahub_hyperjoin.spark.files.text_tables import is_delimited


def recognise_text(
    files: Sequence[ListedFile], selection: TableSelection, store: ObjectStore | None = None
) -> list[ListedFile]:
    """Read the beginning of each text file, and mark the files that hold rows.

    Args:
        selection: The tables to keep; other files are not read.
        store: The object store that has the files, if they are in one.
    """
    return [
        replace(file, is_delimited=True) if _has_rows(file, selection, store) else file
        for file in files
    ]


def _has_rows(file: ListedFile, selection: TableSelection, store: ObjectStore | None) -> bool:
    inner = without_compression(PurePosixPath(file.path))
    if inner.suffix.lower() != TEXT or not selection.tables.allowed(file.path):
        return False
    try:
        return is_delimited(
            StoredFile(file.uri, store) if store else Path(file.uri), selection.dialect
        )
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error, TableError):
        return False  # it is reported among the files that are not read
