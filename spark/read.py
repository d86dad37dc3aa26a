"""Read a table of any kind as a stream of Arrow batches."""

import sys
from collections.abc import Collection, Sequence
from dataclasses import replace

from typing_extensions import assert_never

from datahub_hyperjoin.locations import (
    CatalogTable,
    DeltaFolder,
    File,
    Folder,
    IcebergDataFile,
    IcebergFolder,
    Relation,
    TableLocation,
    is_remote,
)
from datahub_hyperjoin.spark.columns import TableStream, draw, with_usable_values
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.errors import (
    MissingReaderError,
)
from datahub_hyperjoin.spark.files.formats import read_file
from datahub_hyperjoin.spark.files.stored import local_path
from datahub_hyperjoin.tables import Table


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


def _open(
    table: Table, databases: Databases, paths: Collection[str] | None, *, max_rows: int
) -> TableStream:
    """Open a table with the reader that fits its location."""
    location = table.location
    match location:
        case File():
            return read_file(location, paths)
        # Lakes of plain files need no other reader, nor SQLAlchemy, which takes long to import.
        case Folder() | DeltaFolder() | IcebergFolder():
            from datahub_hyperjoin.spark.files.table_parts import (  # noqa: PLC0415
                TableItems,
                read_items,
            )

            return read_items(TableItems(location), paths)
        case IcebergDataFile():
            return _read_data_file(location, paths)
        case Relation():
            from datahub_hyperjoin.spark.databases.relations import (  # noqa: PLC0415
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
    from datahub_hyperjoin.spark.files.folder import read_catalog_files  # noqa: PLC0415

    return read_catalog_files(table.files, paths)


def _read_data_file(file: IcebergDataFile, paths: Collection[str] | None) -> TableStream:
    try:
        from datahub_hyperjoin.spark.native.iceberg import (  # noqa: PLC0415
            read_data_file,  # (an optional requirement)
        )
    except ModuleNotFoundError:
        raise MissingReaderError.of_iceberg() from None
    return read_data_file(file, paths)


def with_absolute_paths(tables: Sequence[Table]) -> list[Table]:
    """Return copies of tables in which all local paths are absolute.

    Workers may run in another folder.
    """
    return [replace(table, location=_absolute(table.location)) for table in tables]


def _absolute(location: TableLocation) -> TableLocation:
    if isinstance(location, Relation | CatalogTable) or is_remote(location.uri):
        return location
    return replace(location, uri=str(local_path(location.uri).absolute()))
