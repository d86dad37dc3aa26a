"""List the tables of a local folder."""

from collections.abc import Iterator
from pathlib import Path

from datahub_hyperjoin.catalog.database_files import is_database_file, tables_of_database_files
from datahub_hyperjoin.catalog.errors import MissingFolderError, NoTablesError
from datahub_hyperjoin.catalog.files import DELTA_LOG, tables_of
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.catalog.text_files import recognise_text
from datahub_hyperjoin.catalog.unread_files import warn_of_unread_files
from datahub_hyperjoin.catalog.workbooks import is_workbook, tables_of_workbooks
from datahub_hyperjoin.locations import ListedFile
from datahub_hyperjoin.progress import Count, Warn, count_nothing
from datahub_hyperjoin.tables import Table


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
    """List the tables in a local folder and its subfolders.

    Args:
        warn: Receives each link that is not followed, and the kinds of files that are not read.
        count: Receives the number of files that are not read.
        follow_links: Whether files elsewhere are listed if a link in the folder leads to them.
    """
    check_folder(folder)
    files = recognise_text([*_files(folder, warn, follow_links=follow_links)], selection)
    databases = dict.fromkeys(file for file in files if is_database_file(file))
    others = [file for file in files if not (is_workbook(file) or file in databases)]
    inner = [
        *tables_of_workbooks(files, selection, warn=warn, count=count),
        *tables_of_database_files([*databases], selection, warn=warn, count=count),
    ]
    tables = sorted([*tables_of(others, selection), *inner], key=lambda table: table.id)
    warn_of_unread_files(others, selection, warn=warn, count=count)
    if not tables:
        raise NoTablesError.in_folder(str(folder), seen=len(files))
    return tables


def _files(folder: Path, warn: Warn, *, follow_links: bool) -> Iterator[ListedFile]:
    """List the visible files in a folder and its subfolders.

    Links to folders are not followed.

    Files and folders are hidden if their names begin with a dot or an underscore, such as `.x` and
    `_SUCCESS`. The only exception is `_delta_log`, the log folder of a Delta table.
    """
    # Resolved, because workers may run in another folder.
    root = folder.resolve()
    for path in sorted(root.rglob("*")):
        below = path.relative_to(root)
        hidden = [part for part in below.parts if part.startswith((".", "_"))]
        # The log of a Delta table begins with an underscore, but belongs to the table.
        if path.is_file() and (not hidden or hidden == [DELTA_LOG]):
            if not _is_utf8(below):
                warn(
                    "File with an unreadable name skipped",
                    "DataHub's names are UTF-8, and this one is not. Rename the file or folder",
                    below.as_posix().encode("utf-8", "backslashreplace").decode(),
                )
                continue
            if not follow_links and not path.resolve().is_relative_to(root):
                warn(
                    "Link out of the folder not followed",
                    "The file is not read. To read it, set `catalog.follow_links: true`",
                    below.as_posix(),
                )
                continue
            status = path.stat()
            yield ListedFile(str(path), below.as_posix(), status.st_size, status.st_mtime_ns)


def _is_utf8(path: Path) -> bool:
    # Python writes bytes that are not UTF-8 as halves of surrogate pairs.
    return not any("\ud800" <= character <= "\udfff" for character in str(path))
