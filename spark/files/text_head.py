"""Parse the beginning of delimited text: its delimiter, title lines, header and first rows.

Every file is opened here before its rows are read, so the first rows are parsed only once.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from datahub_hyperjoin.file_formats import DEFAULT_DIALECT, Dialect
from datahub_hyperjoin.spark.errors import EmptyTableError, UnreadableTableError
from datahub_hyperjoin.spark.files.header import filled_fields, find_header

_DELIMITERS = ",;\t|"
"""Characters that are looked for as delimiters."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_ROWS_EXAMINED = 200
_LONG_FIELD = "field larger than field limit"
"""A part of Python's error message about a field that is too long."""


def find_delimiter(head: str, dialect: Dialect = DEFAULT_DIALECT) -> str:
    r"""Find the character that separates fields, such as a comma or a tab.

    The delimiter is the candidate with the highest score: the number of fields in the header, times
    the share of rows that have the same number.

    Returns:
        The delimiter. If there is only one column, it is the first candidate that the dialect does
        not use otherwise.

    Examples:
        >>> find_delimiter("name;price\napple;1,20\npear;0,80\n")
        ';'
        >>> find_delimiter("name\napple, red\n")
        ','
    """
    candidates = [char for char in _DELIMITERS if char not in (dialect.quote, dialect.escape)]
    dialects = {char: replace(dialect, delimiter=char) for char in candidates if char in head}
    # A character that leaves the header in one piece separates nothing.
    splitting = [char for char, tried in dialects.items() if len(read_header(head, tried)) > 1]
    if len(splitting) > 1:
        return max(splitting, key=lambda char: _score(head, dialects[char]))
    below = [
        char for char, tried in dialects.items() if not splitting and split_titles(head, tried)[0]
    ]
    return [*splitting, *below, *candidates][0]


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

    Returns:
        The title lines above the header, with the blank lines below them, empty if there are none;
        and the fields of the header and of each row below it, up to the first error, without the
        last of several rows, which the end of the block may cut.

    >>> text = "Cities; 2024\n\nname,land,people\nOslo,Norway,7\nBergen,Norway,3\n"
    >>> split_titles(text, Dialect(delimiter=","))
    ('Cities; 2024\n\n', [['name', 'land', 'people'], ['Oslo', 'Norway', '7']])
    """
    rows, is_valid = _examine(head, dialect)
    titles = "" if is_valid and _is_at_top(head, rows) else _title_lines(head, dialect)
    if titles:
        rows, _ = _examine(head[len(titles) :], dialect)
    return titles, _without_cut(rows)


def _parse_rows(head: str, dialect: Dialect) -> Iterator[list[str]]:
    """Return an iterator over the fields of each line that is not blank."""
    # This splits lines as `_LINE` does, and many lines in less time.
    return filter(None, csv.reader(io.StringIO(head, newline=""), **_options(dialect)))


def _examine(head: str, dialect: Dialect) -> tuple[list[list[str]], bool]:
    """Parse the first rows that are not blank; also return whether no error ended them."""
    rows: list[list[str]] = []
    with suppress(csv.Error):
        for row in islice(_parse_rows(head, dialect), _ROWS_EXAMINED + 1):
            rows.append(row)  # noqa: PERF402 (rows before an error count)
        return rows, True
    return rows, False


def _without_cut(rows: list[list[str]]) -> list[list[str]]:
    return rows[:-1] if len(rows) > 2 else rows  # noqa: PLR2004 (header and one row)


def _is_at_top(head: str, rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first line fills too many fields for a title.

    `find_header` then returns 0 for any of the first rows. This takes a tenth of its time.
    """
    if not rows or head[0] in "\r\n":
        return False
    return 2 * filled_fields(rows[0]) > max(map(len, rows))


def _title_lines(head: str, dialect: Dialect) -> str:
    """Return the title lines above the header, with the blank lines below them."""
    lines = [line.group() for line in islice(_LINE.finditer(head), _ROWS_EXAMINED)]
    reader = csv.reader(lines, **_options(dialect))
    rows, starts = list[list[str]](), list[int]()
    with suppress(csv.Error):
        while (start := reader.line_num) < len(lines):
            rows.append(next(reader))
            starts.append(start)
    # The end of the block may cut the last row.
    header = find_header(rows if head.endswith(("\n", "\r")) else rows[:-1])
    return "".join(lines[: starts[header]]) if header else ""


def _score(head: str, dialect: Dialect) -> float:
    header, *others = _without_cut(_examine(head, dialect)[0])
    matching = sum(len(row) == len(header) for row in others)
    return len(header) * (matching + 1) / (len(others) + 1)


def _options(dialect: Dialect) -> dict[str, Any]:
    """Return the options for Python's CSV parser."""
    return {
        "delimiter": dialect.delimiter or _DELIMITERS[0],
        "quotechar": dialect.quote or None,
        "quoting": csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
        "escapechar": dialect.escape or None,
    }
