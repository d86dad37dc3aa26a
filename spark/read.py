"""Reads one table in a worker, as a stream of Arrow batches."""

from collections.abc import Collection, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from typing_extensions import assert_never

from datahub_hyperjoin.errors import EmptyTableError, UnreadableTableError
from datahub_hyperjoin.spark.columns import Reading
from datahub_hyperjoin.spark.delimited import read_delimited
from datahub_hyperjoin.spark.parquet import read_parquet
from datahub_hyperjoin.tables import FileFormat, Table


def read_table(table: Table, *, max_rows: int, paths: Collection[str] | None = None) -> Reading:
    """Opens a table.

    Args:
        table: Which one; its location is a path or a `file:` URI.
        max_rows: Rows read at most; a note says when there are more.
        paths: The columns to read; without it, all.

    Returns:
        Its columns, its rows as they come, and the notes.

    Raises:
        TableError: The table cannot be used. Some faults show only while its rows are read.
    """
    path = local_path(table.location)
    try:
        match table.format:
            case FileFormat.CSV:
                reading = read_delimited(path, "", paths)
            case FileFormat.TSV:
                reading = read_delimited(path, "\t", paths)
            case FileFormat.PARQUET:
                reading = read_parquet(path, paths)
            case _:
                assert_never(table.format)
    except OSError as fault:
        raise UnreadableTableError.because(fault.strerror or str(fault)) from fault
    return Reading(reading.columns, _limited(reading, max_rows), reading.notes)


def local_path(location: str) -> Path:
    """The path that a table's location stands for.

    Args:
        location: A path or a `file:` URI.

    Returns:
        The path.

    Examples:
        >>> str(local_path("file:///lake/sales%202024.csv")), str(local_path("lake/sales.csv"))
        ('/lake/sales 2024.csv', 'lake/sales.csv')
    """
    return Path(unquote(urlsplit(location).path) if location.startswith("file:") else location)


def located(tables: Sequence[Table]) -> list[Table]:
    """The tables as workers find them, whose working directory may be another.

    Args:
        tables: As the catalog knows them.

    Returns:
        The same, with absolute paths for their locations.
    """
    return [replace(table, location=str(local_path(table.location).absolute())) for table in tables]


def _limited(reading: Reading, max_rows: int) -> Generator[pa.RecordBatch, None, None]:
    left = max_rows
    with closing(reading.batches) as batches:
        for batch in batches:
            if len(batch) > left:
                reading.notes.append(f"read up to row {max_rows}; there are more")
                yield batch.slice(0, left)
                return
            left -= len(batch)
            yield batch
    if left == max_rows:
        raise EmptyTableError.without_rows()
