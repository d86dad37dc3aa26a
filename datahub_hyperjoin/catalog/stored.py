"""List the tables of an object store's folder through Arrow."""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from pyarrow import fs

from datahub_hyperjoin.catalog.errors import NoRemoteTablesError, UnreachableStoreError
from datahub_hyperjoin.catalog.files import DELTA_LOG, tables_of
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.catalog.text_files import recognise_text
from datahub_hyperjoin.catalog.unread_files import warn_of_unread_files
from datahub_hyperjoin.catalog.workbooks import is_workbook, tables_of_workbooks
from datahub_hyperjoin.locations import DeltaFolder, IcebergFolder, ListedFile
from datahub_hyperjoin.object_stores import ObjectStore
from datahub_hyperjoin.progress import Count, Warn, count_nothing
from datahub_hyperjoin.spark.files.stored import reach_store
from datahub_hyperjoin.tables import Table
from datahub_hyperjoin.wording import name_some


def scan_stored_folder(
    connection: str,
    uri: str,
    store: ObjectStore,
    selection: TableSelection,
    *,
    warn: Warn,
    count: Count = count_nothing,
) -> list[Table]:
    """List the tables in a folder of an object store and in its subfolders.

    Args:
        warn: Receives the kinds of files that are not read.
    """
    try:
        files = recognise_text([*_files(uri, store)], selection, store)
    except OSError as error:
        raise UnreachableStoreError.because(connection, str(error)) from error
    name = uri.partition("://")[2].strip("/")
    others = [file for file in files if not is_workbook(file)]
    found = [
        *tables_of(others, selection, folder=name, store=store),
        *tables_of_workbooks(files, selection, folder=name, store=store, warn=warn, count=count),
    ]
    tables = _without_lakehouse_tables(found, warn)
    warn_of_unread_files(others, selection, warn=warn, count=count)
    if not tables:
        raise NoRemoteTablesError.in_folder_of(connection, seen=len(files))
    return sorted(tables, key=lambda table: table.id)


def _files(uri: str, store: ObjectStore) -> Iterator[ListedFile]:
    """List the visible files in a folder and its subfolders, except empty files.

    As in a local folder, names that begin with a dot or an underscore are hidden, except for
    `_delta_log`.
    """
    file_system, root = reach_store(uri, store)
    begin = uri.rstrip("/")
    for info in file_system.get_file_info(fs.FileSelector(root, recursive=True)):
        below = info.path[len(root) :].strip("/")
        hidden = [part for part in PurePosixPath(below).parts if part.startswith((".", "_"))]
        is_visible = not hidden or hidden == [DELTA_LOG]
        if info.type is fs.FileType.File and info.size and is_visible:
            yield ListedFile(f"{begin}/{below}", below, info.size, info.mtime_ns or 0)


def _without_lakehouse_tables(tables: Sequence[Table], warn: Warn) -> list[Table]:
    """Leave out Delta and Iceberg tables, and warn about them.

    Their metadata names data files by absolute URIs, so only Spark reads them in object stores.
    """
    left_out = [
        table for table in tables if isinstance(table.location, DeltaFolder | IcebergFolder)
    ]
    if left_out:
        warn(
            "Delta and Iceberg tables not read",
            "In object stores, only Spark reads them. Set `reader: spark`, with `s3a://` in place "
            "of `s3://`, and the settings in the recipe for object stores",
            name_some([str(table.id) for table in left_out]),
        )
    return [table for table in tables if table not in left_out]
