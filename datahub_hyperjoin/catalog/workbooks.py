"""List the sheets of workbooks as tables."""

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from datahub_hyperjoin.catalog.files import state_of
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import ListedFile, WorkbookSheet
from datahub_hyperjoin.object_stores import ObjectStore
from datahub_hyperjoin.progress import Count, Warn
from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.spark.files.excel import WORKBOOKS, can_read_workbooks, list_sheets
from datahub_hyperjoin.spark.files.stored import StoredFile
from datahub_hyperjoin.tables import Table
from datahub_hyperjoin.wording import number_of

_LOCKS = "~$*"
"""Pattern of the names of lock files, which exist while somebody has a workbook open."""


def is_workbook(file: ListedFile) -> bool:
    """Return whether a file has the extension of a workbook."""
    return PurePosixPath(file.path).suffix.lower() in WORKBOOKS


def tables_of_workbooks(
    files: Sequence[ListedFile],
    selection: TableSelection,
    *,
    folder: str = "",
    store: ObjectStore | None = None,
    warn: Warn,
    count: Count,
) -> list[Table]:
    """List the sheets of workbooks as tables.

    The name of a table is the path of the file and the name of the sheet, as in
    `sales.xlsx/Orders`.

    Args:
        store: The object store from which Arrow reads the files, if they are in one.

    Returns:
        Tables, in the order of the files and of their sheets.
    """
    files = [
        file for file in files if is_workbook(file) and not PurePosixPath(file.path).match(_LOCKS)
    ]
    if files and not can_read_workbooks():
        count("files_not_read", len(files))
        warn(
            "Excel files not read",
            "Their sheets get no suggestions, since the package that reads them is missing",
            f"{number_of(len(files), 'file')}, for example {files[0].path}; run "
            "`pip install 'datahub-hyperjoin[excel]'`",
        )
        return []
    tables: list[Table] = []
    for file in files:
        try:
            tables += _tables_of(file, selection, folder, store)
        except TableError as error:  # noqa: PERF203 (one workbook costs no other)
            count("files_not_read", 1)
            warn(
                "Workbook not read",
                "Its sheets get no suggestions. Leave it out with `tables.deny`",
                f"{file.path} {error}",
            )
    return tables


def _tables_of(
    file: ListedFile, selection: TableSelection, folder: str, store: ObjectStore | None
) -> Iterator[Table]:
    for sheet in _list_sheets(file, store):
        name = f"{file.path}/{sheet}"
        if selection.tables.allowed(name):
            yield selection.table(
                folder=folder,
                table=name,
                title=sheet,
                location=WorkbookSheet(uri=file.uri, sheet=sheet, store=store),
                size=file.size,
                state=state_of([file]),
            )


def _list_sheets(file: ListedFile, store: ObjectStore | None) -> list[str]:
    if store is None:
        return list_sheets(Path(file.uri))
    try:
        return list_sheets(StoredFile(file.uri, store))
    except OSError as error:
        raise UnreadableTableError.because(str(error)) from error
