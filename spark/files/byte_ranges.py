"""Divide delimited text into byte ranges that begin where rows begin.

A line end inside quotes ends no row, so that the beginning of a range does not show whether it is
inside a row. Therefore, the file is divided at any line ends first, the quotes of each range are
counted, and their sum before a range tells whether it begins inside quotes. Counting is several
times as fast as parsing.

A quote inside a field that does not begin with one is a character as any other. A file with such a
quote cannot be divided, nor can one that is not UTF-8.
"""

import codecs
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from datahub_hyperjoin.locations import Dialect
from datahub_hyperjoin.spark.files.stored import BlockStream, DataPath, bytes_of, open_in_order

_BLOCK = 1 << 20
_LONGEST_LINE = 1 << 26
"""Maximum number of bytes that are read at once to find the end of a line."""


@dataclass(frozen=True, slots=True)
class ByteRange:
    """A range of bytes in a file, from `begin` (included) to `end` (excluded)."""

    begin: int
    end: int
    has_header: bool = False


@dataclass(frozen=True, slots=True)
class QuoteScan:
    """The result of counting the quotes in a byte range, to find where rows begin."""

    is_odd: bool = False
    fits_outside: bool = False
    """Whether all quotes belong to quoted fields if the range begins outside of quotes. False if
    the text cannot be divided at all."""

    fits_inside: bool = False


class RangeText(BlockStream):
    """A stream of a byte range's rows, preceded by one line that readers have to skip.

    The line is the header if the range contains it; otherwise it is blank.
    """

    def __init__(self, path: DataPath, part: ByteRange) -> None:
        super().__init__()
        self.notes: list[str] = []
        self._size = self._left = part.end - part.begin
        self._file = open_in_order(path)
        self._file.seek(part.begin)
        self._ready = b"" if part.has_header else b"\n"

    def size(self) -> float:
        """Return the number of bytes in the range."""
        return self._size

    def rest(self) -> bytes | None:
        """Return None, because a range is read as a stream and never as a whole."""
        return None

    def _make_ready(self) -> None:
        if not self._ready and self._left:
            self._ready = self._file.read(min(self._left, _BLOCK))
            # A file may have become shorter.
            self._left = self._left - len(self._ready) if self._ready else 0
            # Arrow misses a last line without a line break, and ignores a blank last line.
            self._ready += b"\n" * (not self._left)

    def close(self) -> None:
        """Close the stream and the file."""
        self._file.close()
        super().close()


def divide_lines(path: DataPath, count: int) -> list[ByteRange]:
    """Divide a file into byte ranges of similar size, each beginning after a line end."""
    size = bytes_of(path)
    with open_in_order(path) as file:
        starts = [_start_of_header(file.read(_BLOCK))]
        for part in range(1, count):
            file.seek(max(starts[-1], size * part // count))
            if not file.readline(_LONGEST_LINE).endswith(b"\n"):
                break
            starts.append(file.tell())
    return _ranges([*starts, size])


def scan_quotes(path: DataPath, part: ByteRange, dialect: Dialect) -> QuoteScan:
    """Count the quotes in a byte range, and check whether all belong to quoted fields."""
    # The check is made for a range that begins outside quotes and for one that begins inside.
    quote, before_fields = dialect.quote.encode(), f"{dialect.delimiter}{dialect.quote}\r\n"
    decoder = codecs.getincrementaldecoder("utf-8")()
    quotes, fits, last = 0, [True, True], b"\n"
    for block in _blocks(path, part):
        if b"\0" in block or not is_utf8(block, decoder):
            return QuoteScan()
        if quote and quote in block:
            preceding = _before_each(quote, last + block)
            can_open = np.isin(preceding, np.frombuffer(before_fields.encode(), np.uint8))
            for inside in (False, True):
                # Every second quote opens a field.
                fits[inside] &= bool(can_open[(quotes + inside) % 2 :: 2].all())
            quotes += len(preceding)
        last = block[-1:]
    if decoder.getstate()[0]:
        return QuoteScan()
    return QuoteScan(quotes % 2 == 1, *fits)


def align_to_rows(
    path: DataPath, ranges: Sequence[ByteRange], scans: Sequence[QuoteScan], dialect: Dialect
) -> list[ByteRange]:
    """Make each range begin at a row; return none if the text cannot be divided."""
    starts, is_inside = list[int](), False
    for part, scan in zip(ranges, scans, strict=True):
        if not (scan.fits_inside if is_inside else scan.fits_outside):
            return []
        starts.append(_end_of_quotes(path, part.begin, dialect) if is_inside else part.begin)
        is_inside ^= scan.is_odd
    # A quote that is never closed makes one row of all that follows.
    return [] if is_inside else _ranges([*starts, ranges[-1].end])


def _ranges(bounds: Collection[int]) -> list[ByteRange]:
    return [
        ByteRange(begin, end, has_header=not at)
        for at, (begin, end) in enumerate(pairwise(sorted({*bounds})))
    ]


def _start_of_header(block: bytes) -> int:
    return len(block) - len(block.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n"))


def _blocks(path: DataPath, part: ByteRange) -> Iterator[bytes]:
    with open_in_order(path) as file:
        file.seek(part.begin)
        while block := file.read(min(_BLOCK, part.end - file.tell())):
            yield block


def is_utf8(block: bytes, decoder: codecs.IncrementalDecoder) -> bool:
    """Return whether the next bytes of a text are UTF-8, whose last character they may cut."""
    if block.isascii() and not decoder.getstate()[0]:
        return True
    try:
        decoder.decode(block)
    except UnicodeDecodeError:
        return False
    return True


def _before_each(quote: bytes, text: bytes) -> npt.NDArray[np.uint8]:
    codes = np.frombuffer(text, np.uint8)
    return codes[np.flatnonzero(codes[1:] == ord(quote))]


def _end_of_quotes(path: DataPath, position: int, dialect: Dialect) -> int:
    """Given a position inside quotes, return the position at which the next row begins."""
    quote, is_inside = dialect.quote.encode(), True
    with open_in_order(path) as file:
        file.seek(position)
        while line := file.readline(_LONGEST_LINE):
            is_inside ^= line.count(quote) % 2 == 1
            if not is_inside and line.endswith(b"\n"):
                break
        return file.tell()
