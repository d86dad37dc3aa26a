"""Read CSV and TSV files, and keep all values as text.

No value is changed by a guess: a code keeps its leading zeros, and `NA` stays `NA`. A row is read
only if it has as many fields as the header.
"""

import io
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.csv

from datahub_hyperjoin.file_formats import DEFAULT_DIALECT, Dialect
from datahub_hyperjoin.spark.columns import (
    Column,
    RowEstimate,
    TableStream,
    addressable_columns,
    requested_columns,
)
from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.spark.files.byte_ranges import ByteRange, RangeText
from datahub_hyperjoin.spark.files.compression import DecompressedFile
from datahub_hyperjoin.spark.files.encoding import TextStream
from datahub_hyperjoin.spark.files.header import name_first_column, note_names
from datahub_hyperjoin.spark.files.stored import DataPath
from datahub_hyperjoin.spark.files.text_head import find_delimiter, read_header, split_titles

_BLOCK = 1 << 24
_LARGEST_BLOCK = 1 << 28
"""Block size for files with a row that does not fit into two smaller blocks."""
_LONG_ROW = "straddling object"
"""A part of Arrow's error message about a row that is longer than two blocks."""
_Text = TextStream | RangeText


@dataclass(frozen=True, slots=True)
class DelimitedLayout:
    """The dialect, title lines, header and chosen columns of a delimited text file."""

    dialect: Dialect
    """The file's dialect, with the delimiter that was given or found."""

    titles: str
    """The lines above the header."""

    names: list[str]
    """The names in the header."""

    columns: tuple[Column, ...]
    """The columns to read."""


class _SkippedRows:
    """A callback that makes Arrow skip invalid rows, and counts them."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, row: pa.csv.InvalidRow) -> str:
        del row
        self.count += 1
        return "skip"


def read_delimited(
    path: DataPath, paths: Collection[str] | None, dialect: Dialect = DEFAULT_DIALECT
) -> TableStream:
    """Open a delimited text file, such as CSV, to read all columns or those in `paths`.

    Args:
        paths: Paths of the columns to read; all if None.
    """
    with ExitStack() as opened:
        stream = TextStream(opened.enter_context(DecompressedFile(path)), dialect)
        layout = _layout(stream, paths, dialect)
        # From here on, the returned stream closes the file.
        opened.pop_all()
    extent = RowEstimate()

    def read(stream: _Text, block: int) -> Generator[pa.RecordBatch, None, None]:
        skipped = _SkippedRows()
        yield from _batches(stream, layout, skipped, extent=extent, block=block)
        if skipped.count and not extent.rows:
            raise UnreadableTableError.ragged(skipped.count)

    def reopen() -> TextStream:
        again = TextStream(DecompressedFile(path), layout.dialect, stream.notes)
        again.skip(layout.titles)
        return again

    batches = _with_long_rows(read, stream, reopen)
    return TableStream(layout.columns, batches, stream.notes, extent)


def read_delimited_range(
    path: DataPath,
    part: ByteRange,
    paths: Collection[str] | None,
    dialect: Dialect = DEFAULT_DIALECT,
) -> TableStream:
    """Open one byte range of a delimited text file, to read all columns or those in `paths`.

    The file must be one that `align_to_rows` can divide.

    Args:
        part: The range, which begins at a row or at the header.
        paths: Paths of the columns to read; all if None.
    """
    layout, text, extent = find_layout(path, paths, dialect), RangeText(path, part), RowEstimate()

    def read(stream: _Text, block: int) -> Generator[pa.RecordBatch, None, None]:
        return _batches(stream, layout, _SkippedRows(), extent=extent, block=block)

    batches = _with_long_rows(read, text, lambda: RangeText(path, part))
    return TableStream(layout.columns, batches, text.notes, extent)


def find_layout(
    path: DataPath, paths: Collection[str] | None, dialect: Dialect = DEFAULT_DIALECT
) -> DelimitedLayout:
    """Find the delimiter, title lines, header and requested columns of a delimited text file.

    Args:
        paths: Paths of the columns to read; all if None.
    """
    with DecompressedFile(path) as file:
        return _layout(TextStream(file, dialect), paths, dialect)


def _layout(stream: TextStream, paths: Collection[str] | None, dialect: Dialect) -> DelimitedLayout:
    """Skip the title lines of delimited text, and find its layout and the requested columns.

    If `paths` is None, all columns are requested.
    """
    head, notes = stream.head(), stream.notes
    dialect = replace(dialect, delimiter=dialect.delimiter or find_delimiter(head, dialect))
    titles, examined = split_titles(head, dialect)
    if titles:
        notes.append(f"lines above the header were skipped: {len(titles.splitlines())}")
        stream.skip(titles)
    # Without a row, the first one cannot be parsed, which `read_header` reports.
    header, *rows = examined or [read_header(head[len(titles) :], dialect)]
    lines = head.count("\n") or head.count("\r") or 1
    names = name_first_column(header, rows, lines * stream.size() / len(head))
    notes += note_names(names, header, rows)
    columns = [Column(name, position) for position, name in enumerate(names)]
    chosen = requested_columns(addressable_columns(columns, notes), paths)
    if not chosen:
        raise UnreadableTableError.without_names()
    return DelimitedLayout(dialect, titles, names, chosen)


def _with_long_rows(
    read: Callable[[_Text, int], Iterator[pa.RecordBatch]],
    stream: _Text,
    reopen: Callable[[], _Text],
) -> Generator[pa.RecordBatch, None, None]:
    """Yield the rows of a text; if a row is too long for a block, retry with larger blocks.

    The retry reads the text from its beginning, but yields no row again.
    """
    rows = 0
    with _translated_errors():
        try:
            for batch in read(stream, _BLOCK):
                yield batch
                rows += len(batch)
        except pa.ArrowInvalid as error:
            if _LONG_ROW not in str(error):
                raise
        else:
            return
        for batch in read(reopen(), _LARGEST_BLOCK):
            # Rows before the long one have been returned already.
            if rows < len(batch):
                yield batch.slice(rows)
            rows = max(0, rows - len(batch))


@contextmanager
def _translated_errors() -> Iterator[None]:
    try:
        yield
    except pa.ArrowInvalid as error:
        if _LONG_ROW in str(error):
            raise UnreadableTableError.with_long_row(_LARGEST_BLOCK >> 20) from error
        raise UnreadableTableError.because(str(error).splitlines()[0]) from error


def _batches(
    stream: _Text,
    layout: DelimitedLayout,
    skipped: _SkippedRows,
    *,
    extent: RowEstimate,
    block: int,
) -> Generator[pa.RecordBatch, None, None]:
    """Read the rows as Arrow batches, and add a note about skipped rows.

    Arrow knows the columns by their positions, since the header may repeat a name.
    """
    rows = 0
    dialect, columns = layout.dialect, layout.columns
    positions = [str(position) for position in range(len(layout.names))]
    chosen = [str(column.position) for column in columns]
    options = pa.csv.ParseOptions(
        delimiter=dialect.delimiter,
        quote_char=dialect.quote or False,
        escape_char=dialect.escape or False,
        newlines_in_values=True,
        invalid_row_handler=skipped,
    )
    try:
        with stream, _source(stream) as source:
            batches = _open(source, positions, chosen, options=options, block=block)
            for blocks, batch in enumerate(batches, start=1):
                rows += len(batch)
                # Each batch is one block; the blocks left have about as many rows each.
                extent.rows = rows * max(1.0, stream.size() / block / blocks)
                yield batch.rename_columns([column.path for column in columns])
    except pa.ArrowInvalid as error:
        if _LONG_ROW in str(error):
            skipped.count = 0  # the file is read again
        raise
    finally:
        if skipped.count:
            stream.notes.append(
                f"skipped rows with more or fewer fields than the header: {skipped.count}"
            )


def _source(stream: _Text) -> io.BufferedReader | pa.BufferReader:
    """Return the text as a file object for Arrow's CSV reader.

    A short file is a buffer in memory, a long one a buffered stream.
    """
    text = stream.rest()
    return io.BufferedReader(stream, _BLOCK) if text is None else pa.BufferReader(text)


def _open(
    source: io.BufferedReader | pa.BufferReader,
    positions: list[str],
    chosen: list[str],
    *,
    options: pa.csv.ParseOptions,
    block: int,
) -> pa.csv.CSVStreamingReader:
    """Open an Arrow CSV reader that returns the columns in `chosen` as text.

    `positions` are the names of all columns: their positions in the file. `block` is the number of
    bytes that are read at once.
    """
    return pa.csv.open_csv(
        source,
        pa.csv.ReadOptions(
            column_names=positions,
            # The header, since the names are given.
            skip_rows_after_names=1,
            block_size=block,
            use_threads=False,
        ),
        options,
        pa.csv.ConvertOptions(
            column_types=dict.fromkeys(positions, pa.string()),
            include_columns=chosen,
            null_values=[""],
            strings_can_be_null=True,
            # `TextStream` has made sure of it.
            check_utf8=False,
        ),
    )
