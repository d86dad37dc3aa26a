"""Reads CSV and TSV files as text: what a value is, its column decides later.

Nothing is guessed that would change a value. Zeros before a code stay, `NA` stays, and a row is
read only if it has as many fields as the header.
"""

import csv
import io
import re
from collections.abc import Collection, Generator, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from datahub_hyperjoin.errors import EmptyTableError, UnreadableTableError
from datahub_hyperjoin.locations import USUAL, Dialect
from datahub_hyperjoin.spark.columns import Column, RowEstimate, TableStream, addressable, wanted
from datahub_hyperjoin.spark.files.compression import Unpacked
from datahub_hyperjoin.spark.files.encoding import TextStream

_BLOCK = 1 << 24
_DELIMITERS = ",;\t|"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_LOOKED_AT = 200


class _Ragged:
    """Counts the rows that Arrow is told to skip."""

    def __init__(self) -> None:
        self.rows = 0

    def __call__(self, row: pa.csv.InvalidRow) -> str:
        del row
        self.rows += 1
        return "skip"


def read_delimited(
    path: Path, paths: Collection[str] | None, dialect: Dialect = USUAL
) -> TableStream:
    """Opens a file of delimited text.

    Args:
        path: Where it is.
        paths: The columns to read; without it, all.
        dialect: How it is written, as far as that is known.

    Returns:
        The reading.

    Raises:
        EmptyTableError: The file is empty.
        UnreadableTableError: The file is no text.
    """
    with ExitStack() as opened:
        stream = TextStream(opened.enter_context(Unpacked(path)), dialect)
        head, notes = stream.head(), stream.notes
        dialect = replace(dialect, delimiter=dialect.delimiter or find_delimiter(head, dialect))
        names = _header(head, dialect)
        columns = wanted(addressable([Column(n, at) for at, n in enumerate(names)], notes), paths)
        if not columns:
            raise UnreadableTableError.without_names()
        opened.pop_all()
    extent = RowEstimate()
    batches = _batches(stream, dialect, names, columns, extent=extent)
    return TableStream(columns, batches, notes, extent)


def find_delimiter(head: str, dialect: Dialect = USUAL) -> str:
    r"""Which of comma, semicolon, tab and bar separates fields.

    It is the one that splits the header into most fields, each weighed by the share of rows
    that have as many.

    Args:
        head: The beginning of the file.
        dialect: How it is written otherwise.

    Returns:
        The delimiter; when there is but one column, the first of these that can be one.

    Examples:
        >>> find_delimiter("name;price\napple;1,20\npear;0,80\n")
        ';'
        >>> find_delimiter("name\napple, red\n")
        ','
    """
    possible = [sign for sign in _DELIMITERS if sign not in (dialect.quote, dialect.escape)]
    tried = {sign: replace(dialect, delimiter=sign) for sign in possible if sign in head}
    splitting = [sign for sign, told in tried.items() if len(_header(head, told)) > 1]
    if len(splitting) > 1:
        return max(splitting, key=lambda sign: _fit(head, tried[sign]))
    return splitting[0] if splitting else possible[0]


def _header(head: str, dialect: Dialect) -> list[str]:
    try:
        header = next(_rows(head, dialect), None)
    except csv.Error as fault:
        raise UnreadableTableError.because(str(fault)) from fault
    if header is None:
        raise EmptyTableError.without_content()
    return header


def _fit(head: str, dialect: Dialect) -> float:
    rows = []
    with suppress(csv.Error):
        for row in islice(_rows(head, dialect), _LOOKED_AT + 1):
            rows.append(row)  # noqa: PERF402 (rows before a fault count)
    # The last row looked at may be cut off in the middle.
    header, *others = rows[:-1] if len(rows) > 2 else rows  # noqa: PLR2004 (header and one row)
    alike = sum(len(row) == len(header) for row in others)
    return len(header) * (alike + 1) / (len(others) + 1)


def _rows(head: str, dialect: Dialect) -> Iterator[list[str]]:
    """The rows that are not blank, the header included."""
    lines = (line.group() for line in _LINE.finditer(head))
    rows = csv.reader(
        lines,
        delimiter=dialect.delimiter or _DELIMITERS[0],
        quotechar=dialect.quote or None,
        quoting=csv.QUOTE_MINIMAL if dialect.quote else csv.QUOTE_NONE,
        escapechar=dialect.escape or None,
    )
    return (row for row in rows if row)


def _batches(
    stream: TextStream,
    dialect: Dialect,
    names: list[str],
    columns: tuple[Column, ...],
    *,
    extent: RowEstimate,
) -> Generator[pa.RecordBatch, None, None]:
    ragged = _Ragged()
    rows = 0
    places = [str(place) for place in range(len(names))]
    read = [str(column.position) for column in columns]
    parsing = pa.csv.ParseOptions(
        delimiter=dialect.delimiter,
        quote_char=dialect.quote or False,
        escape_char=dialect.escape or False,
        newlines_in_values=True,
        invalid_row_handler=ragged,
    )
    try:
        with stream, _source(stream) as source:
            for at, batch in enumerate(_open(source, places, read, parsing=parsing), start=1):
                rows += len(batch)
                extent.rows = rows * max(1.0, stream.size() / _BLOCK / at)
                yield batch.rename_columns([column.path for column in columns])
    except pa.ArrowInvalid as fault:
        raise UnreadableTableError.because(str(fault).splitlines()[0]) from fault
    finally:
        if ragged.rows:
            stream.notes.append(
                "rows left out, because they have more or fewer fields than the header: "
                f"{ragged.rows}"
            )
    if ragged.rows and not rows:
        raise UnreadableTableError.ragged(ragged.rows)


def _source(stream: TextStream) -> io.BufferedReader | pa.BufferReader:
    """What Arrow reads from: a short file is in memory already."""
    text = stream.rest()
    return io.BufferedReader(stream, _BLOCK) if text is None else pa.BufferReader(text)


def _open(
    source: io.BufferedReader | pa.BufferReader,
    places: list[str],
    read: list[str],
    *,
    parsing: pa.csv.ParseOptions,
) -> pa.csv.CSVStreamingReader:
    """Names columns by their places, since the header may repeat a name, and reads all as text."""
    return pa.csv.open_csv(
        source,
        pa.csv.ReadOptions(
            column_names=places, skip_rows_after_names=1, block_size=_BLOCK, use_threads=False
        ),
        parsing,
        pa.csv.ConvertOptions(
            column_types=dict.fromkeys(places, pa.string()),
            include_columns=read,
            null_values=[""],
            strings_can_be_null=True,
            check_utf8=False,
        ),
    )
