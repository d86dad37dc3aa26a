"""List the tables of a local folder, or of a folder in an object store."""

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from pyarrow import fs

from datahub_hyperjoin.catalog.databases import is_database_file, tables_of_database_files
from datahub_hyperjoin.catalog.errors import (
    MissingFolderError,
    NoRemoteTablesError,
    NoTablesError,
    UnreachableStoreError,
)
from datahub_hyperjoin.catalog.files import (
    is_workbook,
    recognise_formats,
    tables_of,
    tables_of_archives,
    tables_of_workbooks,
    warn_of_unread_files,
    warn_of_unused_options,
)
from datahub_hyperjoin.catalog.series import is_hudi_metadata, with_series
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import DeltaFolder, File, IcebergFolder, ListedFile, ObjectStore
from datahub_hyperjoin.progress import Count, Warn, count_nothing
from datahub_hyperjoin.spark.files.stored import DELTA_LOG, reach_store
from datahub_hyperjoin.tables import Table
from datahub_hyperjoin.wording import name_some


def check_folder(folder: Path) -> None:
    """Check that a path is an existing folder."""
    if folder.is_file():
        raise MissingFolderError.but_file(str(folder))
    if not folder.is_dir():
        raise MissingFolderError.at(str(folder))


def scan_folder(
    folder: Path,
    selection: TableSelection,
    *,
    warn: Warn,
    count: Count = count_nothing,
    follow_links: bool = False,
) -> list[Table]:
    """List the tables in a local folder and its subfolders."""
    check_folder(folder)
    files = recognise_formats([*_files(folder, warn, follow_links=follow_links)], selection)
    databases = dict.fromkeys(file for file in files if is_database_file(file))
    others = [file for file in files if not (is_workbook(file) or file in databases)]
    inner = [
        *tables_of_workbooks(files, selection, warn=warn, count=count),
        *tables_of_database_files([*databases], selection, warn=warn, count=count),
        *tables_of_archives(files, selection, warn=warn),
    ]
    read = {table.location.uri for table in inner if isinstance(table.location, File)}
    others = [file for file in others if file.uri not in read]
    tables = [*tables_of(others, selection), *inner]
    if not selection.separate_files:
        tables = with_series(tables, files, warn)
    tables.sort(key=lambda table: table.id)
    warn_of_unread_files(others, selection, warn=warn, count=count)
    warn_of_unused_options(files, selection, warn=warn)
    if not tables:
        raise NoTablesError.in_folder(str(folder), seen=len(files))
    return tables


def _files(folder: Path, warn: Warn, *, follow_links: bool) -> Iterator[ListedFile]:
    # Files and folders are hidden if their names begin with a dot or an underscore, such as
    # `.x` and `_SUCCESS`. The only exception is `_delta_log`, the log folder of a Delta
    # table.
    # Resolved, because workers may run in another folder.
    root = folder.resolve()
    for path in sorted(root.rglob("*")):
        below = path.relative_to(root)
        hidden = [part for part in below.parts if part.startswith((".", "_"))]
        # The log of a Delta table begins with an underscore, but belongs to the table.
        is_visible = not hidden or hidden == [DELTA_LOG] or is_hudi_metadata(PurePosixPath(below))
        if path.is_file() and is_visible:
            if not _is_utf8(below):
                warn(
                    "File with an unreadable name skipped",
                    "DataHub's names are UTF-8, and this one is not. Rename the file or folder",
                    below.as_posix().encode("utf-8", "backslashreplace").decode(),
                )
            elif not follow_links and not path.resolve().is_relative_to(root):
                warn(
                    "Link out of the folder not followed",
                    "The file is not read. To read it, set `catalog.follow_links: true`",
                    below.as_posix(),
                )
            else:
                status = path.stat()
                yield ListedFile(str(path), below.as_posix(), status.st_size, status.st_mtime_ns)


def _is_utf8(path: Path) -> bool:
    # Python writes bytes that are not UTF-8 as halves of surrogate pairs.
    return not any("\ud800" <= character <= "\udfff" for character in str(path))


def scan_stored_folder(
    connection: str,
    uri: str,
    store: ObjectStore,
    selection: TableSelection,
    *,
    warn: Warn,
    count: Count = count_nothing,
) -> list[Table]:
    """List the tables in a folder of an object store and in its subfolders."""
    try:
        files = recognise_formats([*_files_in_store(uri, store)], selection, store)
    except OSError as error:
        raise UnreachableStoreError.because(connection, str(error)) from error
    name = uri.partition("://")[2].strip("/")
    others = [file for file in files if not is_workbook(file)]
    found = [
        *tables_of(others, selection, folder=name, store=store),
        *tables_of_workbooks(files, selection, folder=name, store=store, warn=warn, count=count),
    ]
    if not selection.separate_files:
        found = with_series(found, files, warn)
    tables = _without_lakehouse_tables(found, warn)
    warn_of_unread_files(others, selection, warn=warn, count=count)
    warn_of_unused_options(files, selection, warn=warn)
    if not tables:
        raise NoRemoteTablesError.in_folder_of(connection, seen=len(files))
    return sorted(tables, key=lambda table: table.id)


def _files_in_store(uri: str, store: ObjectStore) -> Iterator[ListedFile]:
    # As in a local folder, names that begin with a dot or an underscore are hidden, except
    # for `_delta_log`.
    file_system, root = reach_store(uri, store)
    begin = uri.rstrip("/")
    for info in file_system.get_file_info(fs.FileSelector(root, recursive=True)):
        below = info.path[len(root) :].strip("/")
        hidden = [part for part in PurePosixPath(below).parts if part.startswith((".", "_"))]
        is_visible = not hidden or hidden == [DELTA_LOG] or is_hudi_metadata(PurePosixPath(below))
        if info.type is fs.FileType.File and info.size and is_visible:
            yield ListedFile(f"{begin}/{below}", below, info.size, info.mtime_ns or 0)


def _without_lakehouse_tables(tables: Sequence[Table], warn: Warn) -> list[Table]:
    # Their metadata names data files by absolute URIs, so only Spark reads them in object
    # stores.
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
