"""The tables that a folder holds."""

from collections.abc import Iterator
from pathlib import Path

from datahub.configuration.common import AllowDenyPattern

from datahub_hyperjoin.catalog.files import LOG, tables_of
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.errors import MissingFolderError, NoTablesError
from datahub_hyperjoin.locations import USUAL, Dialect, ListedFile
from datahub_hyperjoin.tables import Table


def scan_folder(
    folder: Path,
    *,
    platform: str,
    env: str,
    instance: str | None,
    allowed: AllowDenyPattern,
    dialect: Dialect = USUAL,
) -> list[Table]:
    """Lists the tables below a folder.

    A table's name is its path below the folder; a platform instance stands before it, as in
    DataHub's own urns.

    Args:
        folder: Where to look.
        platform: DataHub platform of the tables.
        env: DataHub environment of the tables.
        instance: DataHub platform instance of the tables.
        allowed: Which paths below the folder are wanted.
        dialect: How files of delimited text are written.

    Returns:
        Tables by name.

    Raises:
        MissingFolderError: There is no such folder.
        NoTablesError: No file below it is a table that is wanted.
    """
    if not folder.is_dir():
        raise MissingFolderError.at(str(folder))
    chosen = TableSelection(
        platform=platform,
        env=env,
        instance=instance,
        names="{table}",
        schemas=AllowDenyPattern.allow_all(),
        tables=allowed,
        views=True,
        dialect=dialect,
    )
    files = [*_files(folder)]
    tables = tables_of(files, chosen)
    if not tables:
        raise NoTablesError.in_folder(str(folder), seen=len(files))
    return tables


def _files(folder: Path) -> Iterator[ListedFile]:
    """Files below a folder, without those that tools hide from people (`.x`, `_SUCCESS`)."""
    root = folder.resolve()
    for path in sorted(root.rglob("*")):
        below = path.relative_to(root)
        hidden = [part for part in below.parts if part.startswith((".", "_"))]
        if path.is_file() and (not hidden or hidden == [LOG]):
            found = path.stat()
            yield ListedFile(str(path), below.as_posix(), found.st_size, found.st_mtime_ns)
