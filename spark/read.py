"""Read a table of any kind as a stream of Arrow batches."""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from typing_extensions import assert_never

from datahub_hyperjoin.file_formats import Dialect, FileFormat
from datahub_hyperjoin.locations import (
    CatalogTable,
    DeltaFolder,
    File,
    Folder,
    IcebergDataFile,
    IcebergFolder,
    Relation,
    TableLocation,
    WorkbookSheet,
    is_remote,
)
from datahub_hyperjoin.spark.columns import TableStream, draw, with_usable_values
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import (
    EmptyTableError,
    MissingIcebergError,
    UnreadableTableError,
)
from datahub_hyperjoin.spark.files.avro import read_avro
from datahub_hyperjoin.spark.files.catalog import read_catalog_files
from datahub_hyperjoin.spark.files.delimited import read_delimited, read_delimited_range
from datahub_hyperjoin.spark.files.delta import read_delta
from datahub_hyperjoin.spark.files.duckdb_tables import read_duckdb_table
from datahub_hyperjoin.spark.files.excel import read_sheet
from datahub_hyperjoin.spark.files.fixed_width import read_fixed_width
from datahub_hyperjoin.spark.files.folder import read_folder
from datahub_hyperjoin.spark.files.iceberg import read_iceberg
from datahub_hyperjoin.spark.files.json_arrays import read_json_file
from datahub_hyperjoin.spark.files.json_lines import read_json_lines
from datahub_hyperjoin.spark.files.orc import read_orc
from datahub_hyperjoin.spark.files.parquet import read_parquet
from datahub_hyperjoin.spark.files.stored import DataPath, StoredFile, bytes_of, local_path
from datahub_hyperjoin.spark.files.table_parts import (
    DeltaPart,
    FilePart,
    FileRange,
    FolderPart,
    IcebergPart,
    TablePart,
)
from datahub_hyperjoin.tables import Table

_DELIMITERS = {FileFormat.CSV: None, FileFormat.TSV: "\t"}
"""Delimiter of each format if the recipe names none; None if it is detected from the file."""
_READERS: Mapping[FileFormat, Callable[[DataPath, Collection[str] | None], TableStream]] = {
    FileFormat.JSON_LINES: read_json_lines,
    FileFormat.JSON: read_json_file,
    FileFormat.PARQUET: read_parquet,
    FileFormat.ORC: read_orc,
    FileFormat.AVRO: read_avro,
}
_READERS_OF_LOCATIONS: Mapping[
    FileFormat, Callable[[File, DataPath, Collection[str] | None], TableStream]
] = {
    FileFormat.FIXED_WIDTH: lambda file, path, paths: read_fixed_width(path, paths, file.dialect),
    FileFormat.DUCKDB: lambda file, _, paths: read_duckdb_table(
        local_path(file.uri), file.member, paths
    ),
}


def read_table(
    table: Table,
    databases: Databases,
    *,
    max_rows: int,
    max_bytes: int = sys.maxsize,
    paths: Collection[str] | None = None,
) -> TableStream:
    """Open a table as a limited stream of rows, with all columns or those in `paths`.

    Args:
        databases: Open databases, to which those of the table are added.
        max_rows: Maximum number of rows to draw. A note says if the table has more.
        max_bytes: Approximate number of bytes to read. A note says if the table has more.

    Returns:
        Its columns, its rows as they are read, and the notes.
    """
    stream = with_usable_values(_open(table, databases, paths, max_rows=max_rows))
    return replace(stream, batches=draw(stream, max_rows=max_rows, max_bytes=max_bytes))


def _open(  # noqa: PLR0911 (a return for each kind of location)
    table: Table, databases: Databases, paths: Collection[str] | None, *, max_rows: int
) -> TableStream:
    """Open a table with the reader that fits its location."""
    location = table.location
    match location:
        case File() | WorkbookSheet():
            return read_file(location, paths)
        case Folder():
            return read_folder(location, paths, open_file=read_file)
        case DeltaFolder():
            return read_delta(local_path(location.uri), paths)
        case IcebergFolder():
            return read_iceberg(local_path(location.uri), paths)
        case IcebergDataFile():
            return _read_data_file(location, paths)
        case Relation():
            # SQLAlchemy takes a quarter of a second to import; lakes of files need none.
            from datahub_hyperjoin.spark.databases.relation_stream import (  # noqa: PLC0415
                read_relation,
            )

            engine = databases.engine(location)
            return read_relation(location, engine, paths, max_rows=max_rows, size=table.size)
        case CatalogTable():
            return _read_catalog_table(location, paths)
        case _:
            assert_never(location)


def _read_catalog_table(table: CatalogTable, paths: Collection[str] | None) -> TableStream:
    if table.files is None:
        message = f"Only Spark's own readers read {table}"
        raise TypeError(message)
    return read_catalog_files(table.files, paths, open_file=read_file)


def _read_data_file(file: IcebergDataFile, paths: Collection[str] | None) -> TableStream:
    try:
        from datahub_hyperjoin.spark.native.iceberg import (  # noqa: PLC0415
            read_data_file,  # (an optional requirement)
        )
    except ModuleNotFoundError:
        raise MissingIcebergError.of_table() from None
    return read_data_file(file, paths)


def read_file(file: File | WorkbookSheet, paths: Collection[str] | None) -> TableStream:
    """Open a file with the reader for its format, to read all columns or those in `paths`."""
    path = path_of(file)
    try:
        # No reader is asked: each would report an empty file in another way.
        if not bytes_of(path):
            raise EmptyTableError.without_content()
        if isinstance(file, WorkbookSheet):
            return read_sheet(file, path, paths)
        if file.format in _DELIMITERS:
            return read_delimited(path, paths, known_dialect(file))
        if file.format in _READERS_OF_LOCATIONS:
            return _READERS_OF_LOCATIONS[file.format](file, path, paths)
        return _READERS[file.format](path, paths)
    except OSError as error:
        raise UnreadableTableError.because(error.strerror or str(error)) from error


def read_part(part: TablePart, paths: Collection[str] | None) -> TableStream:
    """Open a part of a table, to read all columns or those in `paths`.

    Returns:
        The rows of the part, with the values that `read_table` would return.
    """
    match part:
        case FileRange(file=file, part=bytes_):
            stream = read_delimited_range(path_of(file), bytes_, paths, known_dialect(file))
        case FilePart(file=file, groups=groups):
            read = read_orc if file.format is FileFormat.ORC else read_parquet
            stream = read(path_of(file), paths, groups)
        case FolderPart(folder=folder, files=files):
            parts = folder.parts[files.start : files.stop]
            stream = read_folder(folder, paths, open_file=read_file, parts=parts)
        case DeltaPart(folder=folder, version=version, files=files):
            stream = read_delta(local_path(folder.uri), paths, version=version, files=files)
        case IcebergPart(folder=folder, metadata=metadata, files=files):
            stream = read_iceberg(local_path(folder.uri), paths, metadata=metadata, files=files)
        case _:
            assert_never(part)
    return with_usable_values(stream)


def known_dialect(file: File) -> Dialect:
    """Return a file's dialect, as far as the recipe and the file format determine it."""
    delimiter = file.dialect.delimiter or _DELIMITERS[file.format]
    return replace(file.dialect, delimiter=delimiter)


def path_of(file: File | WorkbookSheet) -> DataPath:
    """Return a file's local path, or a `StoredFile` for a file in an object store."""
    return StoredFile(file.uri, file.store) if file.store else local_path(file.uri)


def with_absolute_paths(tables: Sequence[Table]) -> list[Table]:
    """Return copies of tables in which all local paths are absolute.

    Workers may run in another folder.
    """
    return [replace(table, location=_absolute(table.location)) for table in tables]


def _absolute(location: TableLocation) -> TableLocation:
    match location:
        case Relation() | CatalogTable():
            return location
        case (
            File()
            | Folder()
            | WorkbookSheet()
            | DeltaFolder()
            | IcebergFolder()
            | IcebergDataFile()
        ):
            if is_remote(location.uri):
                return location
            return replace(location, uri=str(local_path(location.uri).absolute()))
        case _:
            assert_never(location)
