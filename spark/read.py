"""Reads one table in a worker, as a stream of Arrow batches."""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from datahub_hyperjoin.errors import EmptyTableError, UnreadableTableError
from datahub_hyperjoin.locations import (
    CatalogTable,
    DeltaFolder,
    File,
    FileFormat,
    Folder,
    IcebergFolder,
    Relation,
    TableLocation,
    is_remote,
)
from datahub_hyperjoin.spark.columns import TableStream
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.databases.whole import read_relation
from datahub_hyperjoin.spark.files.avro import read_avro
from datahub_hyperjoin.spark.files.delimited import read_delimited
from datahub_hyperjoin.spark.files.delta import read_delta
from datahub_hyperjoin.spark.files.iceberg import read_iceberg
from datahub_hyperjoin.spark.files.json_lines import read_json_lines
from datahub_hyperjoin.spark.files.orc import read_orc
from datahub_hyperjoin.spark.files.parquet import read_parquet
from datahub_hyperjoin.spark.files.parts import read_parts
from datahub_hyperjoin.spark.sampling import draw
from datahub_hyperjoin.tables import Table

_DELIMITERS = {FileFormat.CSV: None, FileFormat.TSV: "\t"}
"""What separates fields where the recipe does not say."""
_READERS: Mapping[FileFormat, Callable[[Path, Collection[str] | None], TableStream]] = {
    FileFormat.JSON_LINES: read_json_lines,
    FileFormat.PARQUET: read_parquet,
    FileFormat.ORC: read_orc,
    FileFormat.AVRO: read_avro,
}


def read_table(
    table: Table,
    databases: Databases,
    *,
    max_rows: int,
    max_bytes: int = sys.maxsize,
    paths: Collection[str] | None = None,
) -> TableStream:
    """Opens a table.

    Args:
        table: Which one.
        databases: Where tables of databases are read.
        max_rows: Rows drawn at most; a note says when there are more.
        max_bytes: Bytes read at most, about; a note says when there are more.
        paths: The columns to read; without it, all.

    Returns:
        Its columns, its rows as they come, and the notes.

    Raises:
        TableError: The table cannot be used. Some faults show only while its rows are read.
    """
    if isinstance(table.place, File):
        reading = read_file(table.place, paths)
    elif isinstance(table.place, Folder):
        reading = read_parts(table.place, paths, open_file=read_file)
    elif isinstance(table.place, DeltaFolder):
        reading = read_delta(local_path(table.place.location), paths)
    elif isinstance(table.place, IcebergFolder):
        reading = read_iceberg(local_path(table.place.location), paths)
    elif isinstance(table.place, Relation):
        engine = databases.engine(table.place)
        reading = read_relation(table.place, engine, paths, max_rows=max_rows, size=table.size)
    else:
        message = f"Spark itself reads {table.place}"
        raise TypeError(message)
    return replace(reading, batches=draw(reading, max_rows=max_rows, max_bytes=max_bytes))


def read_file(file: File, paths: Collection[str] | None) -> TableStream:
    """Opens a file.

    Args:
        file: Which one.
        paths: The columns to read; without it, all.

    Returns:
        The reading.

    Raises:
        TableError: The file cannot be used.
    """
    path = local_path(file.location)
    try:
        if not path.stat().st_size:
            raise EmptyTableError.without_content()
        if file.format in _DELIMITERS:
            delimiter = file.dialect.delimiter or _DELIMITERS[file.format]
            return read_delimited(path, paths, replace(file.dialect, delimiter=delimiter))
        return _READERS[file.format](path, paths)
    except OSError as fault:
        raise UnreadableTableError.because(fault.strerror or str(fault)) from fault


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
    return [replace(table, place=_located(table.place)) for table in tables]


def _located(place: TableLocation) -> TableLocation:
    if isinstance(place, (Relation, CatalogTable)) or is_remote(place.location):
        return place
    return replace(place, location=str(local_path(place.location).absolute()))
