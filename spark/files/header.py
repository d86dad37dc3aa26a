"""Find the title lines and the header of a text or sheet, and name its columns.

R and pandas write the names of rows as a first column without a name, or, with R's `write.table`,
without a field in the header at all. Such a column gets a name, because it is often the key.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import islice, pairwise
from typing import Any

from datahub_hyperjoin.locations import Dialect
from datahub_hyperjoin.spark.errors import EmptyTableError, UnreadableTableError

ROW_NAME = "row_name"

ROWS_NAMED = f"the first column has no name in the file, and is called {ROW_NAME}"

ROW_AS_HEADER = (
    "the first line looks like a row, but its fields were taken as the column names. If it is one, "
    "set `header: false` or run `hyperjoin find --no-header`"
)

NO_HEADER = (
    "the first line is a row, so that the columns have no names and are numbered. If it holds the "
    "names, add a line above it"
)

_MOST_OF_ROWS = 0.9
_MOST_OF_NAMES = 0.8
_FEWEST_CELLS, _FEWEST_FIELDS = 2, 3
"""Minimum number of columns of a table below title lines: in sheets, and in text files."""
_FEWEST_ROWS = 2
_TITLE_SHARE = 3
"""A line that fills at most a third of the columns is no row of the table."""
_NUMBER = re.compile(r"[-+]?[\d.,]*\d[\d.,]*%?")
_YEAR = re.compile(r"(1[5-9]|20)\d\d")
"""A year, which may be the name of a column."""
_FIRST_NUMBERS = (0, 1)
_MOST_OF_TOTAL = 1.5
"""Greatest row number as a share of the number of rows, which is an estimate."""


def find_header(rows: Sequence[Sequence[str]], *, in_cells: bool = False) -> int:
    """Return the index of the header row, after any title lines, in a text file or a sheet.

    A title line fills at most half as many fields as the widest row, or less than the row below it.
    The header has a name for nearly every column, as many fields as the rows that follow, and no
    number in front. Either a column of numbers or codes shows which row is the header, or short
    titles and a blank line.

    >>> body = [["Oslo", "Norway", "0.7"], ["Bergen", "Norway", "0.3"]]
    >>> find_header([["Cities 2024"], ["name", "country", "people"], *body])
    1
    >>> find_header([["name", "country", "people"], *body]), find_header([["Cities"], *body])
    (0, 0)
    """
    filled = [*map(_filled_fields, rows)]
    widest = max(filled, default=0)
    start = next((at for at, count in enumerate(filled) if 2 * count > widest), 0)
    body = [row for row, count in zip(rows[start + 1 :], filled[start + 1 :], strict=True) if count]
    # In text, a title may contain delimiters, so that more must be certain than in a sheet.
    narrowest = _FEWEST_CELLS if in_cells else _FEWEST_FIELDS
    is_group = filled[start : start + 1] < filled[start + 1 : start + 2] or _repeats(rows, start)
    if widest >= narrowest and len(body) > _FEWEST_ROWS and is_group:
        # A row that names groups of columns, or a record about the file, may fill more than half.
        names, *below = body
        if _fits(names, below, widest) and _has_values(names, below):
            return rows.index(names, start)
    if not start or widest < narrowest or len(body) < _FEWEST_ROWS:
        return 0
    if not _fits(rows[start], body, widest):
        return 0
    is_apart = in_cells or not all(filled[:start])
    fullest = max(filled[:start])
    has_title = is_apart and (fullest == 1 or _TITLE_SHARE * fullest <= widest)
    names = [name for name in rows[start] if is_number(name) and not _YEAR.fullmatch(name.strip())]
    return start if (has_title and not names) or _has_values(rows[start], body) else 0


def _repeats(rows: Sequence[Sequence[str]], at: int) -> bool:
    """Return whether a row has a field twice, unless it does not exist."""
    return any(len({*row}) < len(row) for row in rows[at : at + 1])


def _filled_fields(row: Sequence[str]) -> int:
    """Count the fields of a row that are not blank.

    >>> _filled_fields(["Oslo", " ", ""])
    1
    """
    return sum(map(bool, map(str.strip, row)))


def name_first_column(
    names: Sequence[str], rows: Sequence[Sequence[str]], total: float = 0.0
) -> list[str | None]:
    """Return the column names, with `row_name` for a first column that holds the names of rows.

    None stands for a column without a name that is left out: it only numbers the rows, as every
    table could, or is empty. Blank fields at the end of the rows, beyond the header, are such
    columns, too.

    >>> name_first_column(["", "mpg"], [["Mazda RX4", "21"], ["Fiat 128", "32"]])
    ['row_name', 'mpg']
    >>> name_first_column(["mpg"], [["Mazda RX4", "21"], ["Fiat 128", "32"]])
    ['row_name', 'mpg']
    >>> name_first_column(["", "mpg", ""], [["1", "21", "a"], ["2", "32", "b"]])
    [None, 'mpg', '']
    >>> name_first_column(["car", "mpg"], [["Mazda RX4", "21", ""], ["Fiat 128", "32", ""]])
    ['car', 'mpg', None]
    """
    # The usual case, in which the names are those of the header.
    if all(map(str.strip, names)) and max(map(len, rows), default=0) <= len(names):
        return [*names]
    names = [*names, *_blank_ends(names, rows)]
    longer = sum(len(row) == len(names) + 1 for row in rows)
    # One row that is longer than the header is a fault of the row.
    is_missing = (
        len(rows) > 1
        and longer >= _MOST_OF_ROWS * len(rows)
        and not _is_last_divided(names, rows, total or len(rows))
    )
    header = ["", *names] if is_missing else names
    whole = [row for row in rows if len(row) == len(header)]
    named = [
        name if name.strip() or any(row[at].strip() for row in whole) else None
        for at, name in enumerate(header)
    ]
    if named[0] == "" and len(named) > 1:
        is_number = _number_rows([row[0] for row in whole], total or len(rows))
        named[0] = None if is_number else "" if ROW_NAME in named else ROW_NAME
    return named


_KEY_NAME = re.compile(
    r"(?i:(.*[ _.-])?(id|no|nr|num|number|code|key|uuid|guid))|.*[a-z](Id|ID|No|Nr)"
)


def _is_last_divided(names: Sequence[str], rows: Sequence[Sequence[str]], total: float) -> bool:
    """Return whether rows have a field more because a delimiter divides their last one."""
    longer = [row for row in rows if len(row) == len(names) + 1]
    firsts, seconds, *_ = [*zip(*longer, strict=True), ()]
    if any(map(is_number, (field for row in longer for field in row[-2:]))):
        return False
    is_key = len({*firsts}) == len(firsts)
    return (
        (all(row[-1].startswith(" ") for row in longer) and not seconds[0].startswith(" "))
        or (all(map(str.isdecimal, firsts)) and is_key and not _number_rows(firsts, total))
        or (is_key and len({*seconds}) < len(seconds) and _KEY_NAME.fullmatch(names[0]) is not None)
    )


def _blank_ends(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return empty names for the columns that the header lacks, if these columns are blank."""
    lengths = Counter(map(len, rows))
    usual, times = next(iter(lengths.most_common(1)), (0, 0))
    ends = [field for row in rows for field in row[len(names) :]]
    is_longer = usual > len(names) and len(names) not in lengths and times > 1
    return [""] * (usual - len(names)) if is_longer and not any(map(str.strip, ends)) else []


def number_columns(row: Sequence[object]) -> list[str | None]:
    """Name the columns of a table without a header as DuckDB does.

    >>> number_columns(["4711", "Oslo"]), number_columns([""] * 11)[-2:]
    (['column0', 'column1'], ['column09', 'column10'])
    """
    digits = len(str(len(row) - 1))
    return [f"column{at:0{digits}}" for at in range(len(row))]


def note_names(
    names: Sequence[str | None], header: Sequence[str], rows: Sequence[Sequence[str]]
) -> list[str]:
    """Return notes for users if a column name is made up, or if the header looks like values.

    >>> note_names(["row_name", "mpg"], ["", "mpg"], []), note_names(["mpg"], ["mpg"], [])
    (['the first column has no name in the file, and is called row_name'], [])
    """
    named = [ROWS_NAMED] if [*names[:1]] == [ROW_NAME] != [*header[:1]] else []
    if left_out := sum(name is None for name in names):
        named.append(
            f"skipped columns without a name, which are empty or number the rows: {left_out}"
        )
    return named + ([ROW_AS_HEADER] if is_row(header, rows) else [])


def is_row(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the header looks like a row of values."""
    # Such a header has a number above each column of numbers. Years may name columns, and so may
    # numbers at equal distances, such as the days of a month.
    # Nearly all headers end here, without a look at the values.
    if not any(map(is_number, header)):
        return False
    columns = [*zip(header, *(row for row in rows if len(row) == len(header)), strict=True)]
    of_numbers = [name.strip() for name, *values in columns if are_numbers(values)]
    if len(columns) < _FEWEST_CELLS or not of_numbers or not all(map(is_number, of_numbers)):
        return False
    # Python refuses to convert thousands of digits to `int`.
    whole = [Decimal(name) for name in of_numbers if name.isascii() and name.isdigit()]
    steps = {after - before for before, after in pairwise(whole)}
    is_series = len(whole) == len(of_numbers) and len(steps) == 1
    return not is_series and not any(map(_YEAR.fullmatch, of_numbers))


def is_plain_row(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first line is plainly a row of values and no header.

    It has a number above each column of numbers, and a date above each column of dates; or a code
    above a column of codes that are written alike.

    >>> rows = [["7", "2024-02-01", "Rome"], ["8", "2024-03-02", "Bern"]]
    >>> is_plain_row(["6", "2024-01-05", "Oslo"], rows), is_plain_row(["id", "day", "city"], rows)
    (True, False)
    """
    # Nearly all headers end here, without a look at the values.
    below = next((row for row in rows if len(row) == len(header)), ())
    if not header[0].strip() or not any(map(_may_be_value, header, below)):
        return False
    whole = [row for row in rows if len(row) == len(header)]
    if len(whole) < _FEWEST_ROWS or len(header) < _FEWEST_CELLS:
        return False
    names, has_dates = list[str](), False
    columns = [*zip(header, *whole, strict=True)]
    for name, *values in columns:
        if are_numbers(values):
            names.append(name)
            # A name above numbers or dates tells at once.
            if not is_number(name):
                return False
        elif _are_dates(values):
            has_dates = True
            if not _are_dates([name, *values]):
                return False
    return (
        has_dates
        or any(map(_are_codes, columns))
        or not _may_be_names([name.strip() for name in names], len(columns))
    )


def _may_be_value(name: str, below: str) -> bool:
    return _DIGIT.search(name) is not None and (
        is_number(name) or _are_dates([name]) or _coded(name) == _coded(below)
    )


def _are_codes(values: Sequence[str]) -> bool:
    """Return whether values are codes of as many digits and letters, such as `AB-0123`."""
    shape = _coded(values[0])
    is_code = shape.count("9") >= _FEWEST_DIGITS and not shape.isdigit()
    return (
        is_code and len({*values}) > _FEWEST_CODES and all(_coded(each) == shape for each in values)
    )


def _coded(text: str) -> str:
    return _CAPITAL.sub("A", _SMALL.sub("a", _ONE_DIGIT.sub("9", text)))


_FEWEST_DIGITS, _FEWEST_CODES = 2, 9
_CAPITAL, _SMALL, _ONE_DIGIT = re.compile("[A-Z]"), re.compile("[a-z]"), re.compile(r"\d")


def _may_be_names(numbers: Sequence[str], columns: int) -> bool:
    """Return whether numbers may be names: places, years, or the keys of a pivot table."""
    whole = [Decimal(each) for each in numbers if each.isascii() and each.isdigit()]
    if len(whole) < len(numbers):
        return False
    is_pivot = len(whole) == columns - 1 > _FEWEST_CELLS and sorted({*whole}) == whole
    return (
        is_pivot or all(number <= columns for number in whole) or all(map(_YEAR.fullmatch, numbers))
    )


def _are_dates(values: Sequence[str]) -> bool:
    written = [value for value in values if value.strip()]
    shapes = {_DIGIT.sub("9", value) for value in written}
    return len(shapes) == 1 and shapes <= _DATES and len(written) == len(values)


_DIGIT = re.compile(r"\d+")
_DATES = {f"9{sign}9{sign}9{time}" for sign in "-./" for time in ("", " 9:9", " 9:9:9", "T9:9:9")}


def _fits(header: Sequence[str], body: Sequence[Sequence[str]], widest: int) -> bool:
    """Return whether the row `header` can be the header of the rows below it (`body`)."""
    # `widest` is the number of fields that are filled in the fullest row.
    names = [name.strip() for name in header if name.strip()]
    as_wide = sum(len(row) == len(header) for row in body)
    return (
        len(names) >= _MOST_OF_NAMES * widest
        and len({*names}) == len(names)
        and as_wide >= _MOST_OF_ROWS * len(body)
        and not is_number(names[0])
    )


def _has_values(header: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Return whether a column has numbers, or digits in each value, below a name without."""
    columns = zip(header, *(row for row in body if len(row) == len(header)), strict=True)
    return any(
        (name.strip() and not is_number(name) and are_numbers(values))
        or (name.strip() and not _DIGIT.search(name) and all(map(_DIGIT.search, values)))
        for name, *values in columns
    )


def is_number(text: str) -> bool:
    """Return whether a text is a number, in the notation of any country."""
    return _NUMBER.fullmatch(text.strip()) is not None


def are_numbers(values: Sequence[str]) -> bool:
    """Return whether all values that are not blank are numbers."""
    written = [value for value in values if value.strip()]
    return bool(written) and all(map(is_number, written))


def _number_rows(values: Sequence[str], total: float) -> bool:
    """Return whether values number the rows of a table, of which there are about `total`."""
    # They do in any order, also if rows were left out of an ascending one. Other whole numbers may
    # be a key, such as zip codes.
    if not all(value.isascii() and value.isdigit() for value in values):
        return False
    numbers = [*map(int, values)]
    ascending = sorted({*numbers})
    if len(ascending) < len(numbers):
        return False
    is_numbering = numbers == ascending and numbers[0] in _FIRST_NUMBERS
    return is_numbering or ascending[-1] <= _MOST_OF_TOTAL * total


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
ROWS_EXAMINED = 200
_LONG_FIELD = "field larger than field limit"


def read_header(head: str, dialect: Dialect) -> list[str]:
    """Return the names in the first row of a delimited text."""
    try:
        header = next(_parse_rows(head, dialect), None)
    except csv.Error as error:
        if _LONG_FIELD in str(error):
            raise UnreadableTableError.with_long_header(csv.field_size_limit()) from error
        raise UnreadableTableError.because(str(error)) from error
    if header is None:
        raise EmptyTableError.without_content()
    return header


def split_titles(head: str, dialect: Dialect) -> tuple[str, list[list[str]]]:
    r"""Split the beginning of delimited text into the title lines, and the header and first rows.

    >>> text = "Cities; 2024\n\nname,land,people\nOslo,Norway,7\nBergen,Norway,3\n"
    >>> split_titles(text, Dialect(delimiter=","))
    ('Cities; 2024\n\n', [['name', 'land', 'people'], ['Oslo', 'Norway', '7']])
    """
    rows, is_valid = parse_first_rows(head, dialect)
    if not dialect.header:
        return "", without_cut(rows)
    titles = "" if is_valid and _is_at_top(head, rows) else _title_lines(head, dialect)
    if titles:
        rows, _ = parse_first_rows(head[len(titles) :], dialect)
    return titles, without_cut(rows)


def _parse_rows(head: str, dialect: Dialect) -> Iterator[list[str]]:
    """Return an iterator over the fields of each line that is not blank."""
    # This splits lines as `_LINE` does, and many lines in less time.
    return filter(None, csv.reader(io.StringIO(head, newline=""), **csv_options(dialect)))


def parse_first_rows(head: str, dialect: Dialect) -> tuple[list[list[str]], bool]:
    """Parse the first rows that are not blank; also return whether no error ended them."""
    rows: list[list[str]] = []
    with suppress(csv.Error):
        for row in islice(_parse_rows(head, dialect), ROWS_EXAMINED + 1):
            rows.append(row)  # noqa: PERF402 (rows before an error count)
        return rows, True
    return rows, False


def without_cut(rows: list[list[str]]) -> list[list[str]]:
    """Return the first rows without the last of several, which the end of the block may cut."""
    return rows[:-1] if len(rows) > 2 else rows  # noqa: PLR2004 (header and one row)


def _is_at_top(head: str, rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first line fills too many fields for a title."""
    # `find_header` then returns 0 for any of the first rows. This takes a tenth of its time.
    if not rows or head[0] in "\r\n":
        return False
    filled = [*map(_filled_fields, rows[:2])]
    is_full = 2 * filled[0] > max(map(len, rows)) and filled[0] == max(filled)
    return is_full and not _repeats(rows, 0)


def _title_lines(head: str, dialect: Dialect) -> str:
    """Return the title lines above the header, with the blank lines below them."""
    lines = [line.group() for line in islice(_LINE.finditer(head), ROWS_EXAMINED)]
    reader = csv.reader(lines, **csv_options(dialect))
    rows, starts = list[list[str]](), list[int]()
    with suppress(csv.Error):
        while (start := reader.line_num) < len(lines):
            rows.append(next(reader))
            starts.append(start)
    # The end of the block may cut the last row.
    header = find_header(rows if head.endswith(("\n", "\r")) else rows[:-1])
    return "".join(lines[: starts[header]]) if header else ""


def csv_options(dialect: Dialect) -> dict[str, Any]:
    """Return the options for Python's CSV parser."""
    return {
        "delimiter": dialect.delimiter or ",",
        "quotechar": dialect.quote or None,
        "quoting": csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
        "escapechar": dialect.escape or None,
    }
