"""Read sheets of Excel and OpenDocument workbooks.

A sheet is held in memory as a whole, outside of Python; its rows become Python objects batch by
batch.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, time, timedelta
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from datahub_hyperjoin.locations import Dialect, File
from datahub_hyperjoin.spark.columns import (
    Batches,
    Column,
    Paths,
    RowEstimate,
    TableStream,
    choose_columns,
    readable_paths,
)
from datahub_hyperjoin.spark.errors import EmptyTableError, MissingReaderError, UnreadableTableError
from datahub_hyperjoin.spark.files.formats import FileFormat
from datahub_hyperjoin.spark.files.header import (
    find_header,
    name_first_column,
    note_names,
    number_columns,
)
from datahub_hyperjoin.spark.files.stored import DataPath, open_in_order, path_of
from datahub_hyperjoin.spark.objects import batch_of

if TYPE_CHECKING:
    from python_calamine import CalamineWorkbook

_PACKAGE = "python_calamine"
_ROWS_EXAMINED = 200
_BATCH_ROWS = 1 << 13
_EXACT_FLOATS = 2.0**53

Cell = str | float | bool | date | time | timedelta
_Rows = Iterator[list[Cell]]


def can_read_workbooks() -> bool:
    """Return whether the optional package that reads workbooks is installed."""
    return find_spec(_PACKAGE) is not None


class Workbook(FileFormat):
    """A workbook of Excel or OpenDocument, whose sheets are members."""

    name = "workbook"
    title = "sheets of workbooks"
    suffixes = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
    has_members = True

    def list_members(self, path: DataPath, *, views: bool = True) -> list[tuple[str, ...]]:
        """List the sheets with cells, in their order."""
        del views
        with _translated_errors():
            from python_calamine import SheetTypeEnum  # noqa: PLC0415 (an optional requirement)

            with _open_workbook(path) as workbook:
                sheets = workbook.sheets_metadata
                return [(sheet.name,) for sheet in sheets if sheet.typ == SheetTypeEnum.WorkSheet]

    def read(self, file: File, paths: Paths) -> TableStream:
        """Open a sheet, below any title lines."""
        extent = RowEstimate()
        [sheet] = file.member
        return _read(_rows(path_of(file), sheet, extent), paths, extent, file.dialect)


def _read(rows: _Rows, paths: Paths, extent: RowEstimate, dialect: Dialect) -> TableStream:
    head = [*islice(rows, _ROWS_EXAMINED)]
    if not head:
        raise EmptyTableError.without_cells()
    texts = [["" if cell == "" else str(_value(cell)) for cell in row] for row in head]
    start = find_header(texts, in_cells=True) if dialect.header else -1
    header, below = texts[max(start, 0)], texts[start + 1 :]
    has_names = dialect.header
    names = name_first_column(header, below, extent.rows) if has_names else number_columns(header)
    columns, notes = choose_columns(
        [Column(name, at) for at, name in enumerate(names) if name is not None], paths
    )
    if not columns:
        raise UnreadableTableError.without_names()
    notes += note_names(names, header, below) if has_names else []
    if start > 0:
        notes.append(f"lines above the header were skipped: {start}")
    batches = _batches(chain(head[start + 1 :], rows), columns)
    return TableStream(columns, batches, notes, extent)


def _rows(path: DataPath, sheet: str, extent: RowEstimate) -> _Rows:
    with _translated_errors(), _open_workbook(path) as workbook:
        cells = workbook.get_sheet_by_name(sheet)
        extent.rows = cells.height
        yield from (row for row in cells.iter_rows() if any(cell != "" for cell in row))


def _open_workbook(path: DataPath) -> "CalamineWorkbook":
    from python_calamine import CalamineWorkbook  # noqa: PLC0415 (an optional requirement)

    if isinstance(path, Path):
        return CalamineWorkbook.from_path(path)
    with open_in_order(path) as file:
        return CalamineWorkbook.from_filelike(file)


def _batches(rows: _Rows, columns: Sequence[Column]) -> Batches:
    while chunk := [*islice(rows, _BATCH_ROWS)]:
        values = [[_value(row[column.position]) for row in chunk] for column in columns]
        yield batch_of(readable_paths(columns), values, rows=len(chunk))


def _value(cell: Cell) -> object:
    """Convert a cell to a Python value."""
    # The package returns whole numbers as floats, and missing cells as empty texts.
    if cell == "":
        return None
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _EXACT_FLOATS:
        return int(cell)
    return cell


@contextmanager
def _translated_errors() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError:
        raise MissingReaderError.of_workbook() from None
    except BaseException as error:
        # The library's own errors, and a fault in its Rust code, which is no `Exception`.
        kind = type(error)
        if kind.__module__ == _PACKAGE or kind.__name__ == "PanicException":
            line = " ".join([f"{kind.__name__}:", *str(error).splitlines()[:1]])
            raise UnreadableTableError.because(line) from None
        raise
