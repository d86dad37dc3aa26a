"""Read sheets of Excel and OpenDocument workbooks.

A sheet is held in memory as a whole, outside of Python; its rows become Python objects batch by
batch.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from importlib.util import find_spec
from itertools import chain, islice, pairwise, takewhile
from typing import TYPE_CHECKING, NamedTuple

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
from datahub_hyperjoin.spark.files.formats import FileFormat, refuse_markup
from datahub_hyperjoin.spark.files.header import (
    find_header,
    is_number,
    name_first_column,
    note_names,
    number_columns,
)
from datahub_hyperjoin.spark.files.stored import DataPath, open_in_order, path_of
from datahub_hyperjoin.spark.objects import batch_of

if TYPE_CHECKING:
    from python_calamine import CalamineWorkbook

_PACKAGE = "python_calamine"
_ROWS_EXAMINED, _BYTES_EXAMINED = 200, 1 << 10
_BATCH_ROWS = 1 << 13
_ROWS_DIVIDED = 1 << 14
"""Maximum number of rows of a sheet that is searched for several tables."""
_FEWEST_ROWS, _ROWS_COMPARED, _ROWS_BELOW = 2, 20, 3
"""Of a table above, and of one that begins with titles, and below its header."""
_EXACT_FLOATS = 2.0**53

Cell = str | float | bool | date | time | timedelta
_Row = tuple[int, list[Cell]]
"""A row of a sheet, with its place."""
_Rows = Iterator[_Row]


class _Merged(NamedTuple):
    """Cells that are merged, of which only the first one at the top has a value."""

    rows: range
    columns: range


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
        extent, merged = RowEstimate(), list[_Merged]()
        [sheet] = file.member
        rows = _rows(path_of(file), sheet, extent, merged)
        return _read(rows, merged, paths, extent, file.dialect)


def _read(
    rows: _Rows, merged: Sequence[_Merged], paths: Paths, extent: RowEstimate, dialect: Dialect
) -> TableStream:
    numbered, tables = [*islice(rows, _ROWS_EXAMINED)], 1
    if dialect.header and extent.rows <= _ROWS_DIVIDED:
        divided = _divide([*numbered, *rows])
        longest = max(divided, key=len)
        tables, rows = len(divided), iter(longest)
        numbered = [*islice(rows, _ROWS_EXAMINED)]
    if not numbered:
        raise EmptyTableError.without_cells()
    head = [row for _, row in numbered]
    texts = [["" if cell == "" else str(_value(cell)) for cell in row] for row in head]
    start = -1
    if dialect.header:
        top = _Header(texts, [at for at, _ in numbered], merged)
        start = top.last_row(find_header(texts, in_cells=True))
        texts[start] = top.names(start)
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
    if tables > 1:
        notes.append(f"only the longest of {tables} tables in the sheet is read")
    batches = _batches(chain(head[start + 1 :], (row for _, row in rows)), columns)
    return TableStream(columns, batches, notes, extent)


def _divide(rows: Sequence[_Row]) -> list[Sequence[_Row]]:
    """Divide a sheet into the tables that stand one below another, with blank rows between."""
    starts = [0]
    for at in range(1, len(rows)):
        is_apart = rows[at][0] > rows[at - 1][0] + 1
        above = rows[starts[-1] : min(at, starts[-1] + _ROWS_COMPARED)] if is_apart else []
        if above and _begins_table(rows[at : at + _ROWS_COMPARED], above):
            starts.append(at)
    return [rows[start:stop] for start, stop in pairwise((*starts, len(rows)))]


def _begins_table(rows: Sequence[_Row], above: Sequence[_Row]) -> bool:
    """Return whether a header of its own begins some rows, perhaps below a title."""
    titles = takewhile(lambda row: len(_filled(row[1])) == 1, rows)
    first = sum(1 for _ in titles)
    (place, names), *below = rows[first : first + 1 + _ROWS_BELOW] or [(0, [])]
    columns = _filled(names)
    if not below or below[0][0] != place + 1:
        return False
    words = [str(names[at]).strip().casefold() for at in columns]
    are_names = len({*words}) == len(words) and not any(map(is_number, words))
    if not are_names or any(not isinstance(names[at], str) for at in columns):
        return False
    # A repeated header begins no other table.
    wide = [row for _, row in above if len(_filled(row)) > 1]
    if len(wide) < _FEWEST_ROWS or any(
        words == [str(row[at]).strip().casefold() for at in columns] for row in wide
    ):
        return False
    inner = [_filled(row) for _, row in below]
    are_rows = all({*each} <= {*columns} for each in inner) and {*columns} == {*chain(*inner)}
    # A row may lack values, or have a word such as `n/a` in place of one.
    valued = [at for at in columns if not any(isinstance(row[at], str) for _, row in below)]
    is_sure = len(valued) > 1 or columns[:1] == valued
    # Words may stand below numbers.
    _, *earlier = (row[columns[0]] for row in wide)
    is_sure |= not valued and not any(isinstance(cell, str) for cell in earlier)
    return are_rows and (is_sure or not {*columns} <= {*chain(*map(_filled, wide))})


def _filled(row: Sequence[Cell]) -> list[int]:
    return [at for at, cell in enumerate(row) if cell != ""]


def _rows(path: DataPath, sheet: str, extent: RowEstimate, merged: list[_Merged]) -> _Rows:
    """Yield the rows with a cell that is filled, and their places; list the merged cells first."""
    with _translated_errors(), _open_workbook(path) as workbook:
        cells = workbook.get_sheet_by_name(sheet)
        extent.rows = cells.height
        # Blank columns on the left are left out of the rows, but blank rows above are not.
        left = cells.start[1] if cells.start else 0
        merged += [
            _Merged(range(top, bottom + 1), range(first - left, last - left + 1))
            for (top, first), (bottom, last) in cells.merged_cell_ranges or ()
        ]
        filled = _fill_merged(cells.iter_rows(), merged)
        yield from ((at, row) for at, row in filled if any(cell != "" for cell in row))


def _fill_merged(rows: Iterable[list[Cell]], merged: Sequence[_Merged]) -> _Rows:
    """Yield the rows and their places, with the value of cells merged over rows in each row."""
    # Not over columns: the title of a sheet would look like its header.
    starting: dict[int, list[_Merged]] = defaultdict(list)
    for each in merged:
        if len(each.rows) > 1:
            starting[each.rows.start].append(each)
    open_: dict[int, tuple[Cell, int]] = {}
    for at, row in enumerate(rows):
        for column, (value, stop) in [*open_.items()] if open_ else ():
            if at < stop:
                row[column] = value
            else:
                del open_[column]
        open_ |= {
            each.columns.start: (row[each.columns.start], each.rows.stop)
            for each in starting.pop(at, ())
        }
        yield at, row


@dataclass(frozen=True, slots=True)
class _Header:
    """The first rows of a sheet, of which several may be the header."""

    texts: Sequence[list[str]]
    places: Sequence[int]
    merged: Sequence[_Merged]

    def last_row(self, start: int) -> int:
        """Return the index of the last row of the header that begins in a row."""
        here, below = self._beginning_in(start), start + 1
        if not here or below + 1 >= len(self.texts):
            return start
        stop = max(each.rows.stop for each in here)
        if stop > self.places[below]:
            return max(at for at in range(len(self.texts) - 1) if self.places[at] < stop)
        # One label over several columns is none of their names, if each has one below.
        named = [self.texts[below][column] for each in here for column in each.columns]
        return start if not all(named) or any(map(is_number, named)) else below

    def names(self, row: int) -> list[str]:
        """Return the names in a row, those that repeat with the label of their columns."""
        names = self.texts[row]
        labels = {
            column: self.texts[row - 1][each.columns.start]
            for each in (self._beginning_in(row - 1) if row else ())
            if len(each.columns) > 1
            for column in each.columns
        }
        times = Counter(names)
        return [
            f"{labels[at]} {name}" if times[name] > 1 and labels.get(at) else name
            for at, name in enumerate(names)
        ]

    def _beginning_in(self, row: int) -> list[_Merged]:
        return [each for each in self.merged if each.rows.start == self.places[row]]


def _open_workbook(path: DataPath) -> "CalamineWorkbook":
    from python_calamine import CalamineWorkbook  # noqa: PLC0415 (an optional requirement)

    # From a path, the ending would count, and not the content.
    with open_in_order(path) as file:
        refuse_markup(file.read(_BYTES_EXAMINED))
        file.seek(0)
        return CalamineWorkbook.from_filelike(file)


def _batches(rows: Iterator[list[Cell]], columns: Sequence[Column]) -> Batches:
    while chunk := [*islice(rows, _BATCH_ROWS)]:
        values = [_values(row[column.position] for row in chunk) for column in columns]
        yield batch_of(readable_paths(columns), values, rows=len(chunk))


def _values(cells: Iterable[Cell]) -> list[object]:
    """Convert the cells of a column; dates among times of days become times of days, too."""
    values = [*map(_value, cells)]
    # Arrow would cut the time of each off.
    if any(isinstance(value, datetime) for value in values):
        return [
            datetime.combine(value, time()) if type(value) is date else value for value in values
        ]
    return values


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
