"""Recognise and read CSV and TSV files, and keep all values as text.

No value is changed by a guess: a code keeps its leading zeros, and `NA` stays `NA`. A row with more
or fewer fields than the header is mended as far as the other rows show how.
"""

import codecs
import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pyarrow.csv

from datahub_hyperjoin.errors import TableError
from datahub_hyperjoin.locations import DEFAULT_DIALECT, Dialect, File
from datahub_hyperjoin.spark.columns import (
    Batches,
    Column,
    Paths,
    RowEstimate,
    TableStream,
    addressable_columns,
    requested_columns,
)
from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.spark.files.byte_ranges import ByteRange, RangeText
from datahub_hyperjoin.spark.files.dialects import (
    SIGNS_OF_PROSE,
    USUAL_DELIMITERS,
    Rewrite,
    Separator,
    both,
    find_dialect,
    long_preamble,
    with_lone_quotes,
)
from datahub_hyperjoin.spark.files.encoding import TextStream
from datahub_hyperjoin.spark.files.formats import DuckDbCall, FileFormat, format_of, refuse_markup
from datahub_hyperjoin.spark.files.header import (
    NO_HEADER,
    csv_options,
    is_plain_row,
    name_first_column,
    note_names,
    number_columns,
    read_header,
    split_titles,
)
from datahub_hyperjoin.spark.files.stored import COMPRESSIONS, DataPath, DecompressedFile, path_of

if TYPE_CHECKING:
    from datahub_hyperjoin.spark.files.ragged import RaggedRows

TEXT = ".txt"
"""The ending of both delimited text and prose."""
_DUCKDB_ENCODINGS = {"iso8859-1": "latin-1", "utf-16": "utf-16", "utf-16-le": "utf-16"}
_BLOCK = 1 << 24
_LARGEST_BLOCK = 1 << 28
"""Block size for files with a row that does not fit into two smaller blocks."""
_LONG_ROW = "straddling object"
_Text = TextStream | RangeText


@dataclass(frozen=True, slots=True)
class DelimitedLayout:
    """The dialect, title lines, header and chosen columns of a delimited text file."""

    dialect: Dialect
    encoding: str
    compression: str
    """The usual ending of files that are compressed in the same way; empty if this is not."""

    rewrite: Rewrite | None
    titles: str
    names: list[str | None]
    columns: tuple[Column, ...]
    rows: list[list[str]]
    """The first rows, which show how to mend others."""


class DelimitedText(FileFormat):
    """Text with a character between fields. Byte ranges of a file can be read alone."""

    may_be_compressed = True
    delimiter: ClassVar[str | None] = None
    """Character between fields that the ending of a file's name promises; None if it promises
    none. The content decides."""

    def recognises(self, path: DataPath, dialect: Dialect) -> bool:
        """Return whether the beginning of a file is a header and rows, and not prose."""
        with DecompressedFile(path) as file:
            return has_rows(file.read(_BYTES_EXAMINED), dialect)

    def read(self, file: File, paths: Paths) -> TableStream:
        """See `FileFormat.read`."""
        return self.read_range(file, None, paths)

    def read_range(self, file: File, part: ByteRange | None, paths: Paths) -> TableStream:
        """Open a file, or a byte range that `align_to_rows` has found."""
        return read_delimited(path_of(file), paths, file.dialect, part, hint=self.delimiter)

    def layout_of(self, file: File) -> DelimitedLayout:
        """Find the layout of a file."""
        with DecompressedFile(path_of(file)) as opened:
            return _layout(TextStream(opened, file.dialect), None, file.dialect, self.delimiter)

    def duckdb_calls(self, dialect: Dialect) -> Sequence[DuckDbCall]:
        """List a call that guesses types, then calls that read text in different encodings."""
        options = _duckdb_options(dialect)
        as_text = {**options, "header": dialect.header, "all_varchar": True}
        # Text that is not UTF-8 is mostly Windows-1252, which Latin-1 nearly equals. In any other
        # encoding, DuckDB reads ASCII keys right.
        encodings = dict.fromkeys([options.get("encoding"), "latin-1"])
        in_each = (as_text | ({"encoding": each} if each else {}) for each in encodings)
        call = partial(DuckDbCall, function="read_csv")
        return [
            call(options=options, suffixes=(".csv", ".tsv"), is_guess=True),
            *(call(options=each, is_text=True) for each in in_each),
        ]

    def duckdb_calls_of(self, file: File) -> Iterator[DuckDbCall]:
        """Yield the calls for any file, and those for what its content shows after the first."""
        guess, *as_text = self.duckdb_calls(file.dialect)
        yield guess
        try:
            layout = self.layout_of(file)
        except (TableError, OSError):
            return
        found = _found_options(layout, path_of(file))
        if isinstance(layout.rewrite, Separator) and found is not None:
            separated: dict[str, str | int] = {"delim": layout.rewrite.sign, "all_varchar": True}
            yield DuckDbCall(function="read_csv", options={**found, **separated}, is_text=True)
        if layout.rewrite is None and found is not None:
            text: dict[str, str | int] = {"header": layout.dialect.header, "all_varchar": True}
            options = {**_duckdb_options(layout.dialect), **text}
            # Strict parsing refuses rows with more or fewer fields than the header.
            padded: dict[str, str | int] = {"null_padding": True, "strict_mode": False}
            is_even = all(len(row) == len(layout.names) for row in layout.rows)
            call = partial(DuckDbCall, function="read_csv", is_text=True)
            if found or not is_even:
                yield call(options={**options, **found, **({} if is_even else padded)})
            yield from as_text
            yield call(options={**options, **found, **padded})
        else:
            yield from as_text

    def duckdb_obstacle(self, file: File) -> str:
        """See `FileFormat.duckdb_obstacle`."""
        try:
            layout = self.layout_of(file)
        except (TableError, OSError):
            return ""
        if layout.compression not in _DUCKDB_COMPRESSIONS:
            return f"it is compressed as `{layout.compression}`. Compress it with gzip or zstd"
        if layout.encoding not in ("utf-8", "utf-8-sig", *_FOUND_ENCODINGS):
            return f"it is in {layout.encoding}. Convert it to UTF-8"
        return "its fields are separated or quoted in an unusual way" if layout.rewrite else ""


def delimited_format(file: File) -> DelimitedText:
    """Return the format of a delimited text file."""
    format_ = format_of(file)
    if not isinstance(format_, DelimitedText):
        raise TypeError(format_)
    return format_


class Csv(DelimitedText):
    """Delimited text whose delimiter each file shows."""

    name = "csv"
    title = "CSV files"
    suffixes = (".csv", ".psv")
    doubtful_suffixes = (
        *(TEXT, ".text", ".dat", ".data", ".dsv", ".ssv", ".tbl", ".del", ".prn", ".asc", ".lst"),
        *(".out", ".rpt", ".unl", ".exp", ".bcp", ""),
    )


class Tsv(DelimitedText):
    """Delimited text with tabs between fields."""

    name = "tsv"
    title = "TSV files"
    suffixes = (".tsv", ".tab")
    delimiter = "\t"


_FOUND_ENCODINGS = {"cp1252": "latin-1", "utf-16": "utf-16", "utf-16-le": "utf-16"}
_DUCKDB_COMPRESSIONS = {"": "none", ".gz": "gzip", ".zst": "zstd"}


def _found_options(layout: DelimitedLayout, path: DataPath) -> dict[str, str | int] | None:
    """Return the options that DuckDB may not find by itself; None if it cannot read the file."""
    named = path.suffix.lower() if path.suffix.lower() in COMPRESSIONS else ""
    dialect, options = layout.dialect, dict[str, str | int]()
    if layout.compression not in _DUCKDB_COMPRESSIONS:
        return None
    if layout.compression != named:
        options["compression"] = _DUCKDB_COMPRESSIONS[layout.compression]
    if dialect.quote != DEFAULT_DIALECT.quote or str(dialect.delimiter) not in USUAL_DELIMITERS:
        options["delim"] = str(dialect.delimiter)
    if layout.titles:
        options["skip"] = len(layout.titles.splitlines())
    if layout.encoding in _FOUND_ENCODINGS:
        options["encoding"] = _FOUND_ENCODINGS[layout.encoding]
    return None if layout.encoding.endswith("-be") else options


def _duckdb_options(dialect: Dialect) -> dict[str, str | int]:
    written: dict[str, str | bool | None] = {
        "delim": dialect.delimiter,
        "quote": None if dialect.quote == DEFAULT_DIALECT.quote else dialect.quote,
        "escape": dialect.escape or None,
        "header": None if dialect.header else False,
        "encoding": _duckdb_encoding(dialect),
        # DuckDB's strict mode refuses an escape outside quotes.
        "strict_mode": False if dialect.escape else None,
    }
    return {name: value for name, value in written.items() if value is not None}


def _duckdb_encoding(dialect: Dialect) -> str | None:
    name = codecs.lookup(dialect.encoding or "utf-8").name
    return None if name == "utf-8" else _DUCKDB_ENCODINGS.get(name, name)


def read_delimited(
    path: DataPath,
    paths: Paths,
    dialect: Dialect = DEFAULT_DIALECT,
    part: ByteRange | None = None,
    *,
    hint: str | None = None,
) -> TableStream:
    """Open delimited text, such as CSV, or a byte range of it that `align_to_rows` has found."""
    with ExitStack() as opened:
        stream = TextStream(opened.enter_context(DecompressedFile(path)), dialect)
        layout = _layout(stream, paths, dialect, hint)
        if not part:
            # From here on, the returned stream closes the file.
            opened.pop_all()

    def reopen() -> _Text:
        if part:
            return RangeText(path, part)
        again = TextStream(DecompressedFile(path), layout.dialect, stream.notes)
        again.rewrite(layout.rewrite, layout.dialect)
        again.skip(layout.titles)
        return again

    extent, text = RowEstimate(), RangeText(path, part) if part else stream
    batches = _with_long_rows([lambda: text, reopen], layout, extent)
    return TableStream(layout.columns, batches, text.notes, extent)


def _layout(
    stream: TextStream, paths: Paths, dialect: Dialect, hint: str | None
) -> DelimitedLayout:
    """Skip the title lines of delimited text, and find its layout and the requested columns."""
    notes = stream.notes
    refuse_markup(stream.head()[:_BYTES_EXAMINED].encode())
    above = long_preamble(stream.head(), dialect, hint)
    dialect, rewrite = find_dialect(stream.head()[len(above) :], dialect, hint)
    stream.rewrite(rewrite, dialect)
    above = rewrite(above) if rewrite else above
    stream.skip(above)
    head = stream.head()
    if lone := with_lone_quotes(head, dialect):
        notes.append("quotes that are never closed were read as a part of the field")
        stream.rewrite(lone, dialect)
        rewrite, head = both(rewrite, lone) if rewrite else lone, stream.head()
    titles, examined = split_titles(head, dialect)
    if above or titles:
        count = len((above + titles).splitlines())
        notes.append(f"lines above the header were skipped: {count}")
        stream.skip(titles)
    # Without a row, the first one cannot be parsed, which `read_header` reports.
    header, *rows = examined or [read_header(head[len(titles) :], dialect)]
    if dialect.header and not titles and is_plain_row(header, rows):
        dialect, rows = replace(dialect, header=False), [header, *rows]
        notes.append(NO_HEADER)
    lines = head.count("\n") or head.count("\r") or 1
    if dialect.header:
        names = name_first_column(header, rows, lines * stream.size() / len(head))
        notes += note_names(names, header, rows)
    else:
        names = number_columns(header)
    # Spaces around a name are no part of it, as for DuckDB.
    columns = [Column(name.strip(), at) for at, name in enumerate(names) if name is not None]
    chosen = requested_columns(addressable_columns(columns, notes), paths)
    if not chosen:
        raise UnreadableTableError.without_names()
    return DelimitedLayout(
        dialect=dialect,
        encoding=stream.encoding,
        compression=stream.compression,
        rewrite=rewrite,
        titles=above + titles,
        names=names,
        columns=chosen,
        rows=rows,
    )


def _with_long_rows(
    opens: Sequence[Callable[[], _Text]], layout: DelimitedLayout, extent: RowEstimate
) -> Batches:
    """Yield the rows of a text; if a row is too long for a block, retry with larger blocks."""
    # The retry reads the text from its beginning, but yields no row again. Rows that are mended
    # follow the others of their block, so that they are counted apart.
    returned = {True: 0, False: 0}
    for block, opened in zip((_BLOCK, _LARGEST_BLOCK), opens, strict=True):
        rows = {True: 0, False: 0}
        try:
            for is_mended, batch in _batches(opened(), layout, extent, block):
                rows[is_mended] += len(batch)
                if (new := rows[is_mended] - returned[is_mended]) >= 0:
                    yield batch.slice(len(batch) - new)
                    returned[is_mended] = rows[is_mended]
        except pa.ArrowInvalid as error:
            if _LONG_ROW not in str(error):
                raise UnreadableTableError.because(str(error).splitlines()[0]) from error
            if block == _LARGEST_BLOCK:
                raise UnreadableTableError.with_long_row(block >> 20) from error
        else:
            return


def _batches(
    stream: _Text, layout: DelimitedLayout, extent: RowEstimate, block: int
) -> Iterator[tuple[bool, pa.RecordBatch]]:
    """Read the rows as Arrow batches, those of irregular rows apart, and add notes about these."""
    irregular: list[str] = []
    ragged = _RaggedRows(layout)

    def keep(row: pa.csv.InvalidRow) -> str:
        irregular.append(row.text)
        return "skip"

    rows, notes = 0, list[str]()
    try:
        with stream, _source(stream) as source:
            batches = _open(source, layout, keep, block)
            for blocks, batch in enumerate(chain(batches, [None]), start=1):
                both = [(False, batch), (True, ragged.batch_of(irregular))]
                for is_mended, each in both:
                    if each:
                        rows += len(each)
                        # Each batch is one block; the blocks left have about as many rows each.
                        extent.rows = rows * max(1.0, stream.size() / block / blocks)
                        yield is_mended, each.rename_columns([c.path for c in layout.columns])
                irregular.clear()
        notes = ragged.notes()
    finally:
        stream.notes += notes
    if notes and not rows and isinstance(stream, TextStream):
        raise UnreadableTableError.ragged(ragged.skipped)


class _RaggedRows:
    """The rows of a text that have more or fewer fields than the header."""

    def __init__(self, layout: DelimitedLayout) -> None:
        self._layout = layout

    @cached_property
    def _mending(self) -> "RaggedRows":
        # Few files need it.
        from datahub_hyperjoin.spark.files.ragged import RaggedRows  # noqa: PLC0415

        layout = self._layout
        return RaggedRows.beside(len(layout.names), layout.rows, str(layout.dialect.delimiter))

    def batch_of(self, lines: Sequence[str]) -> pa.RecordBatch | None:
        """Return a batch of the rows that could be mended; None if there are no lines."""
        if not lines:
            return None
        columns, options = self._layout.columns, csv_options(self._layout.dialect)
        rows = (next(csv.reader(io.StringIO(line, newline=""), **options), [""]) for line in lines)
        kept = [row for row in map(self._mending.mend, rows) if row]
        values = [[row[column.position] or None for row in kept] for column in columns]
        return pa.RecordBatch.from_arrays(
            [pa.array(each, pa.string()) for each in values], [column.path for column in columns]
        )

    @property
    def skipped(self) -> int:
        """How many lines are no rows."""
        return self._mending.skipped

    def notes(self) -> list[str]:
        """Return notes for users about the rows that were mended or skipped."""
        return self._mending.notes() if "_mending" in vars(self) else []


def _source(stream: _Text) -> io.BufferedReader | pa.BufferReader:
    """Return a short text as a buffer in memory, and a long one as a buffered stream."""
    text = stream.rest()
    return io.BufferedReader(stream, _BLOCK) if text is None else pa.BufferReader(text)


def _open(
    source: io.BufferedReader | pa.BufferReader,
    layout: DelimitedLayout,
    skip: Callable[[pa.csv.InvalidRow], str],
    block: int,
) -> pa.csv.CSVStreamingReader:
    """Open an Arrow CSV reader that returns the chosen columns as text."""
    # Arrow knows the columns by their positions, since the header may repeat a name.
    positions = [str(position) for position in range(len(layout.names))]
    return pa.csv.open_csv(
        source,
        pa.csv.ReadOptions(
            column_names=positions,
            # The header, since the names are given.
            skip_rows_after_names=int(layout.dialect.header),
            block_size=block,
            use_threads=False,
        ),
        pa.csv.ParseOptions(
            delimiter=layout.dialect.delimiter,
            quote_char=layout.dialect.quote or False,
            escape_char=layout.dialect.escape or False,
            newlines_in_values=True,
            invalid_row_handler=skip,
        ),
        pa.csv.ConvertOptions(
            column_types=dict.fromkeys(positions, pa.string()),
            include_columns=[str(column.position) for column in layout.columns],
            null_values=[""],
            strings_can_be_null=True,
            # `TextStream` has made sure of it.
            check_utf8=False,
        ),
    )


_BYTES_EXAMINED = 1 << 14
_FEWEST_NAMES, _LONGEST_NAME = 2, 60
_FEWEST_ROWS = 2
_FEWEST_REGULAR = 0.9


def has_rows(content: bytes, dialect: Dialect = DEFAULT_DIALECT) -> bool:
    r"""Return whether the content of a text file is a header and rows, and not prose.

    The header has short names without spaces around them, and most rows have as many fields. In
    prose, a space follows each comma.

    >>> has_rows(b"stop_id;stop_name\n8000;Halle\n"), has_rows(b"Dear Ann,\nthank you, and bye\n")
    (True, False)
    """
    head = _decode(content)
    if "\0" in head:
        return False
    is_given = dialect.delimiter is not None
    try:
        dialect, rewrite = find_dialect(head, dialect)
    except TableError:
        return False
    head = rewrite(head) if rewrite else head
    _, rows = split_titles(head, dialect)
    if len(rows) < _FEWEST_ROWS or (str(dialect.delimiter) in SIGNS_OF_PROSE and not is_given):
        return False
    header, *others = rows
    # R and pandas leave the name of the first column empty; others end each line with a delimiter.
    names = (header if header[0] else header[1:])[: None if header[-1] else -1]
    # Clients of databases and Markdown write spaces around bars.
    is_drawn = dialect.delimiter == "|"
    are_names = len(names) >= _FEWEST_NAMES and all(
        any(map(str.isalnum, name))
        and (is_drawn or name == name.strip())
        and len(name) <= _LONGEST_NAME
        for name in names
    )
    regular = sum(len(row) == len(header) for row in others)
    return are_names and regular >= _FEWEST_REGULAR * len(others)


def _decode(content: bytes) -> str:
    """Decode text well enough to find its delimiters, which are ASCII in nearly all encodings."""
    marked = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if marked else "latin-1", errors="ignore")
