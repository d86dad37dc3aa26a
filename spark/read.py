"""Reads one table in a worker, as a stream of Arrow batches."""

from collections.abc import Collection, Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa

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


def _limited(reading: Reading, max_rows: int) -> Iterator[pa.RecordBatch]:
    left = max_rows
    for batch in reading.batches:
        if len(batch) > left:
            reading.notes.append(f"is longer than {max_rows} rows; only these were read")
            if left:
                yield batch.slice(0, left)
            return
        left -= len(batch)
        yield batch
    if left == max_rows:
        raise EmptyTableError.without_rows()
