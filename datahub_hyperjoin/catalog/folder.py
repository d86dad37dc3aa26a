"""List the tables of a local folder."""

from collections.abc import Iterator
from pathlib import Path

from datahub.configuration.common import AllowDenyPattern

from datahub_hyperjoin.catalog.datasets import PlatformInstance
from datahub_hyperjoin.catalog.errors import MissingFolderError, NoTablesError
from datahub_hyperjoin.catalog.files import DELTA_LOG, tables_of
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.locations import DEFAULT_DIALECT, Dialect, ListedFile
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.tables import Table


def scan_folder(
    folder: Path,
    of: PlatformInstance,
    *,
    allowed: AllowDenyPattern,
    warn: Warn,
    dialect: Dialect = DEFAULT_DIALECT,
    follow_links: bool = False,
) -> list[Table]:
    """List the tables in a local folder and its subfolders.

    The name of a table is its path below the folder, with the platform instance as a prefix, as in
    DataHub's own URNs.

    Args:
        folder: The folder.
        of: DataHub platform, environment and platform instance of the tables.
        allowed: Patterns of the paths below the folder to list.
        warn: Receives each link that is not followed.
        dialect: Dialect of files of delimited text.
        follow_links: Whether files elsewhere are listed if a link in the folder leads to them.

    Returns:
        Tables, ordered by name.

    Raises:
        MissingFolderError: The folder does not exist.
        NoTablesError: No file below it is a table that `allowed` matches.
    """
    if not folder.is_dir():
        raise MissingFolderError.at(str(folder))
    selection = TableSelection(
        platform=of.platform,
        env=of.env,
        instance=of.instance,
        names="{table}",
        schemas=AllowDenyPattern.allow_all(),
        tables=allowed,
        views=True,
        dialect=dialect,
    )
    files = [*_files(folder, warn, follow_links=follow_links)]
    tables = tables_of(files, selection)
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
