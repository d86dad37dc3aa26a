"""The bytes of a text file as UTF-8, whatever they were, one block after another.

Python's decoders do the work. What is decided here is which one: a byte order mark names its
encoding, else the recipe does; else bytes that are valid UTF-8 are taken for it; the first that are
not, in a file that was plain ASCII so far, make the file Windows-1252, which is what Latin-1 files
are in practice.
"""

import codecs
import io

import numpy as np
from typing_extensions import Buffer

from datahub_hyperjoin.errors import EmptyTableError, UnreadableTableError
from datahub_hyperjoin.locations import USUAL, Dialect
from datahub_hyperjoin.spark.files.compression import Unpacked

_BLOCK = 1 << 20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1a\x1b"))
_MOST_CONTROLS = 0.01
_GLANCE = 1 << 12


class TextStream(io.RawIOBase):
    """A file read as UTF-8; its notes say what had to be changed for that."""

    def __init__(self, raw: Unpacked, dialect: Dialect = USUAL) -> None:
        """Reads the first block, and refuses a file that is empty or no text."""
        super().__init__()
        self.notes: list[str] = []
        self._raw = raw
        self._ascii = True
        self._ended = False
        self._quotes = 0
        block = raw.read(_BLOCK)
        self.is_short = len(block) < _BLOCK
        """Whether the first block was all of the file."""
        if not block:
            raise EmptyTableError.without_content()
        marked = next((name for mark, name in _MARKS if block.startswith(mark)), None)
        self._encoding = marked or codecs.lookup(dialect.encoding or "utf-8").name
        self._is_told = dialect.encoding is not None
        # A quote that is escaped opens nothing, and nothing is known then of one left open.
        self._quote = b"" if dialect.escape else dialect.quote.encode()
        self._wide = not self._encoding.startswith("utf-8")
        errors = "replace" if self._wide else "strict"
        self._decoder = codecs.getincrementaldecoder(self._encoding)(errors)
        if self._wide and not self._is_told:
            self.notes.append(f"not UTF-8: read as {self._encoding.upper()}")
        if not self._wide:
            _refuse_binary(block[:_GLANCE], (dialect.delimiter or "").encode())
        # Arrow would take a blank first line for the header.
        self._ready = self._as_utf8(block).lstrip(b"\r\n")
        self._growth = len(self._ready) / len(block)

    def size(self) -> float:
        """How many bytes of UTF-8 there are of all.

        Returns:
            About how many, as what has been read tells.
        """
        return self._growth * self._raw.size()

    def head(self) -> str:
        """The first block, to look at; it is still read afterwards.

        Returns:
            Its text.
        """
        return self._ready.decode("utf-8")

    def rest(self) -> bytes | None:
        """All that is left, if the file is so short that one block held it.

        Returns:
            UTF-8, which is then no longer to be read; nothing if the file is longer.
        """
        if self.is_short:
            self._ready += self._read_on()
        if not self._ended:
            return None
        rest, self._ready = self._ready, b""
        return rest

    def readable(self) -> bool:
        """Tells io that this can be read.

        Returns:
            Always true.
        """
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Fills a buffer with UTF-8.

        Args:
            buffer: What to fill.

        Returns:
            Bytes written; 0 at the end of the file.
        """
        while not self._ready and not self._ended:
            self._ready = self._read_on()
        view = memoryview(buffer)
        size = min(len(view), len(self._ready))
        view[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def close(self) -> None:
        """Closes the file too."""
        self._raw.close()
        super().close()

    def _read_on(self) -> bytes:
        block = self._raw.read(_BLOCK)
        self._ended = not block
        if self._ended and self._quotes % 2:
            self.notes.append("a quote is never closed: rows after it may be missing")
        # Arrow misses a last line without an end, and ignores one that is blank.
        return self._as_utf8(block) + b"\n" * self._ended

    def _as_utf8(self, block: bytes) -> bytes:
        if not self._wide and b"\0" in block:
            raise UnreadableTableError.not_text()
        pending = self._decoder.getstate()[0]
        if block.isascii() and not pending and not self._wide:
            self._quotes += _count(block, self._quote)
            return block
        try:
            text = self._decoder.decode(block, final=not block)
        except UnicodeDecodeError:
            text = self._fallen_back().decode(pending + block, final=not block)
        if self._wide and self._is_told and "\ufffd" in text:
            self._say_replaced(self._encoding)
        encoded = text.encode("utf-8")
        self._ascii = self._ascii and len(encoded) == len(text)
        self._quotes += _count(encoded, self._quote)
        return encoded

    def _say_replaced(self, encoding: str) -> None:
        note = f"bytes that are not {encoding} were replaced by \ufffd"
        if note not in self.notes:
            self.notes.append(note)

    def _fallen_back(self) -> codecs.IncrementalDecoder:
        if self._encoding == "utf-8" and self._ascii and not self._is_told:
            self.notes.append("not UTF-8: read as Windows-1252 (Latin-1)")
            self._encoding = "cp1252"
        else:
            self._say_replaced("UTF-8")
        self._decoder = codecs.getincrementaldecoder(self._encoding)("replace")
        return self._decoder


def _refuse_binary(block: bytes, delimiter: bytes) -> None:
    most = _MOST_CONTROLS * len(block)
    controls = bytes({*_CONTROLS} - {*delimiter})
    if len(block) - len(block.translate(None, controls)) > most:
        raise UnreadableTableError.not_text()


def _count(block: bytes, sign: bytes) -> int:
    """As `bytes.count`, which is slower where there are many; of no sign there is none."""
    if not sign or sign not in block:
        return 0
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord(sign)))
