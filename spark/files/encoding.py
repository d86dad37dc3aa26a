"""Convert text files to UTF-8, block by block.

Python's decoders do the conversion; this module chooses the decoder:

1. A byte order mark determines the encoding; without one, the recipe does.
2. Otherwise the file is read as UTF-8 as long as its bytes are valid.
3. If the first other bytes are not UTF-8, the encoding is detected in that block. Invalid bytes
   among or after characters of UTF-8 are replaced.
"""

import codecs
import re
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import groupby

import numpy as np

from datahub_hyperjoin.locations import DEFAULT_DIALECT, Dialect
from datahub_hyperjoin.spark.errors import EmptyTableError, UnreadableTableError
from datahub_hyperjoin.spark.files.byte_ranges import is_utf8
from datahub_hyperjoin.spark.files.dialects import CONTROLS
from datahub_hyperjoin.spark.files.stored import BlockStream, DecompressedFile

_BLOCK = 1 << 20
# UTF-32 precedes UTF-16, because its little-endian mark begins with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Texts may hold 0x1A, which ends files of DOS, and 0x1B, which begins escape sequences.
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1a\x1b"))
_MOST_CONTROLS = 0.01
_HIGH_BYTES = {
    "utf-16-le": (1, 3),
    "utf-16-be": (0, 2),
    "utf-32-le": (1, 2, 3),
    "utf-32-be": (0, 1, 2),
}
"""Of four bytes, those that are zero in characters of ASCII."""
_FEWEST_ZEROS = 0.1
_BYTES_EXAMINED = 1 << 12
_TITLES = {"cp1252": "Windows-1252 (Latin-1)"}


def marked_encoding(block: bytes) -> str | None:
    """Return the encoding of which a text begins with the byte order mark; None without one."""
    return next((name for mark, name in _BYTE_ORDER_MARKS if block.startswith(mark)), None)


class TextStream(BlockStream):
    """A text file, converted to UTF-8 from any encoding; its notes say from which."""

    def __init__(
        self,
        raw: DecompressedFile,
        dialect: Dialect = DEFAULT_DIALECT,
        notes: list[str] | None = None,
    ) -> None:
        """Read the first block, and raise an error if the file is empty or not text."""
        # Notes are added to those of an earlier stream of the file.
        super().__init__()
        self.notes = [] if notes is None else notes
        self._file = raw
        self._is_ascii = True
        self._has_ended = False
        self._quote, self._quotes = b"", 0
        self._rewrite: Callable[[str], str] | None = None
        self._cut = b""
        block = raw.read(_BLOCK)
        self.is_short = len(block) < _BLOCK
        if not block:
            raise EmptyTableError.without_content()
        marked = marked_encoding(block)
        marked = marked or (None if dialect.encoding else _wide_encoding(block[:_BYTES_EXAMINED]))
        self._encoding = marked or codecs.lookup(dialect.encoding or "utf-8").name
        self._is_given = dialect.encoding is not None
        self._is_detected = False
        self._starts_as_utf8 = self._encoding.startswith("utf-8")
        errors = "strict" if self._starts_as_utf8 else "replace"
        self._decoder = codecs.getincrementaldecoder(self._encoding)(errors)
        if not self._starts_as_utf8 and not self._is_given:
            self._note(f"not UTF-8: read as {self._encoding.upper()}")
        if self._starts_as_utf8:
            _refuse_binary(block[:_BYTES_EXAMINED], (dialect.delimiter or "").encode())
        # Some programs write the mark twice. Arrow would take a blank first line for the header.
        self._ready = self._to_utf8(block).removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
        self._growth = len(self._ready) / len(block)
        self.rewrite(None, dialect)

    @property
    def encoding(self) -> str:
        """Python's name of the encoding, as far as it is known by now."""
        return self._encoding

    @property
    def compression(self) -> str:
        """The usual ending of files that are compressed in the same way; empty if this is not."""
        return self._file.compression

    def size(self) -> float:
        """Estimate how many bytes the file's text takes in UTF-8."""
        return self._growth * self._file.size()

    def head(self) -> str:
        """Return the first block as text, without advancing the stream."""
        return self._ready.decode("utf-8")

    def rewrite(self, rewrite: Callable[[str], str] | None, dialect: Dialect) -> None:
        """Rewrite all lines, from the first block on, to text in a dialect."""
        # An escaped quote opens no field, so counting quotes would not show an open one.
        quote = b"" if dialect.escape else dialect.quote.encode()
        if (quote, rewrite) == (self._quote, self._rewrite):
            return
        self._quote, self._rewrite, self._quotes = quote, rewrite, 0
        self._ready = self._rewritten(self._ready)

    def _rewritten(self, block: bytes) -> bytes:
        if self._rewrite:
            # Lines are rewritten as a whole.
            block = self._cut + block
            end = len(block) if self._has_ended else block.rfind(b"\n") + 1
            block, self._cut = block[:end], block[end:]
            block = self._rewrite(block.decode()).encode()
        self._quotes += _count(block, self._quote)
        return block

    def skip(self, text: str) -> None:
        """Skip the given text, which is the beginning of the first block."""
        self._ready = self._ready[len(text.encode()) :]

    def rest(self) -> bytes | None:
        """Return the unread rest of a short file, or None for a long file."""
        if self.is_short:
            self._ready += self._read_block()
        if not self._has_ended:
            return None
        rest, self._ready = self._ready, b""
        return rest

    def _make_ready(self) -> None:
        while not self._ready and not self._has_ended:
            self._ready = self._read_block()

    def close(self) -> None:
        """Close the stream and the file."""
        self._file.close()
        super().close()

    def _read_block(self) -> bytes:
        block = self._file.read(_BLOCK)
        self._has_ended = not block
        # Arrow misses a last line without a line break, and ignores a blank last line.
        ready = self._rewritten(self._to_utf8(block) + b"\n" * self._has_ended)
        if self._has_ended and self._quotes % 2:
            self._note("a quote is never closed: rows after it may be missing")
        return ready

    def _to_utf8(self, block: bytes) -> bytes:
        """Convert a block of the file to UTF-8."""
        # An empty block flushes the decoder. The decoder keeps the bytes of a character that the
        # end of a block cuts. A block of ASCII that follows no such bytes is UTF-8 already, and is
        # not decoded.
        if self._starts_as_utf8 and b"\0" in block:
            self._note("null characters were removed")
            block = block.replace(b"\0", b"")
        # The end of the block before may have cut a character in two.
        pending = self._decoder.getstate()[0]
        if block.isascii() and not pending and self._starts_as_utf8:
            return block
        try:
            text = self._decoder.decode(block, final=not block)
        except UnicodeDecodeError:
            block = pending + block
            text = self._fallback_decoder(block).decode(block, final=self._has_ended)
        is_other = self._is_detected or (self._is_given and not self._starts_as_utf8)
        if is_other and "\ufffd" in text:
            self._note_replacement(self._encoding)
        encoded = text.encode("utf-8")
        self._is_ascii = self._is_ascii and len(encoded) == len(text)
        return encoded

    def _note_replacement(self, encoding: str) -> None:
        self._note(f"bytes that are not {encoding} were replaced by \ufffd")

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def _fallback_decoder(self, block: bytes) -> codecs.IncrementalDecoder:
        is_free = self._encoding == "utf-8" and self._is_ascii and not self._is_given
        if is_free and not _is_damaged_utf8(block):
            self._encoding, self._is_detected = detect_encoding(block), True
            self._note(f"not UTF-8: read as {_TITLES.get(self._encoding, self._encoding)}")
            errors = "replace"
        elif self._is_given:
            self._note_replacement("UTF-8")
            errors = "replace"
        else:
            self._note("not UTF-8 in places: bytes there were read as Windows-1252 (Latin-1)")
            errors = _MIXED
        self._decoder = codecs.getincrementaldecoder(self._encoding)(errors)
        return self._decoder


_MIXED = "datahub_hyperjoin.mixed"
"""Name of the way to decode UTF-8 in which lines of a file in Windows-1252 were pasted."""


def _from_windows(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    invalid = error.object[error.start : error.end]
    # What no text ends with is damage.
    is_damage = error.reason == "unexpected end of data" or b"\xff" in invalid
    return "\ufffd" if is_damage else invalid.decode(_USUAL, "replace"), error.end


codecs.register_error(_MIXED, _from_windows)


def _refuse_binary(block: bytes, delimiter: bytes) -> None:
    # Null characters are removed: programs pad fields and files with them.
    block = block.replace(b"\0", b"")
    controls = bytes({*_CONTROLS} - {*delimiter})
    if block and _without(block, controls) <= _MOST_CONTROLS * len(block):
        return
    # Values may hold control characters; names only if these are delimiters or no text at all.
    header, _, rows = block.lstrip(b"\r\n").partition(b"\n")
    between = bytes(
        each for each in CONTROLS.encode() if 0 < header.count(each) == _each(rows, each)
    )
    is_odd = _without(header, bytes({*controls} - {*between})) > 0
    decoder = codecs.getincrementaldecoder("utf-8")()
    if is_odd or not block or not is_utf8(block, decoder):
        raise UnreadableTableError.not_text()


def _without(block: bytes, characters: bytes) -> int:
    """Count the given characters in a block."""
    return len(block) - len(block.translate(None, characters))


def _each(rows: bytes, character: int) -> int:
    """Return how often a character occurs in the first of the rows."""
    return rows.partition(b"\n")[0].count(character)


def _wide_encoding(block: bytes) -> str | None:
    """Return UTF-16 or UTF-32 if every second or fourth byte shows it."""
    # Digits, delimiters and line ends begin with a zero byte in text of any language.
    zeros = [block[at::4].count(0) for at in range(4)]
    characters = len(block) // 4
    for encoding, high in _HIGH_BYTES.items():
        low = [at for at in range(4) if at not in high]
        has_zeros = all(zeros[at] >= _FEWEST_ZEROS * characters for at in high)
        if characters and has_zeros and not any(zeros[at] for at in low):
            with suppress(UnicodeError):
                text = codecs.getincrementaldecoder(encoding)().decode(block).encode()
                return encoding if text and not _without(text, _CONTROLS) else None
    return None


def _count(block: bytes, char: bytes) -> int:
    """Count how often a character occurs in a block of bytes."""
    # The result is 0 if the character is empty. `bytes.count` is slower where the character is
    # frequent.
    if not char or char not in block:
        return 0
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord(char)))


_USUAL = "cp1252"
_MULTIBYTE = ("cp932", "euc_jis_2004", "gb18030", "big5hkscs", "cp949")
_ENCODINGS = (
    *("cp1250", "cp1251", _USUAL, "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258"),
    *("iso8859-2", "iso8859-5", "iso8859-6", "iso8859-7", "iso8859-8", "iso8859-15"),
    *("koi8-r", "koi8-u", "cp866", "cp850", "cp852", "mac-roman", "cp874"),
    *_MULTIBYTE,
)
"""Encodings that programs still use for files. Rare encodings, such as the old one for Kazakh, are
left out, because only a few characters distinguish them from the encodings listed here."""
_ASCII = bytes(range(1 << 7))
_SAMPLE = 1 << 14
_FEWEST_BYTES = 3
"""Fewest different bytes beyond ASCII that say anything about the encoding."""
_NEARLY = 0.8
"""Windows-1252, the most frequent encoding, is preferred if its confidence is at least this share
of the best encoding's. Names in Spanish and Polish, for example, have many bytes in common."""
_VALID_FOR_INVALID = 4
"""A text is UTF-8 if it has at least this many valid non-ASCII characters per invalid byte."""
_LONE_ACCENTS = re.compile("[\u02c0-\u02c5\u02c7-\u02db\u02dd-\u02df]")
"""Accents without a letter. Symbols of Windows-1252 become such accents if they are read in another
encoding."""


def detect_encoding(block: bytes) -> str:
    """Detect the encoding of text that is not UTF-8.

    Only lines with bytes beyond ASCII are examined, and at most 16 KiB of them.

    >>> detect_encoding("Россия, Беларусь, Казахстан".encode("cp1251"))
    'cp1251'
    >>> detect_encoding("Österreich, Köln, Dänemark".encode("cp1252"))
    'cp1252'
    """
    lines = b"\n".join(line for line in block.split(b"\n") if not line.isascii())
    sample = lines[:_SAMPLE]
    if len({*sample.translate(None, _ASCII)}) < _FEWEST_BYTES:
        return _USUAL
    import chardet  # noqa: PLC0415 (most files are UTF-8)

    found = chardet.detect_all(
        sample, ignore_threshold=True, compat_names=False, include_encodings=_ENCODINGS
    )
    confidences = {str(each["encoding"]): each["confidence"] for each in found}
    best = max(confidences, key=lambda name: confidences[name])
    is_near = confidences.get(_USUAL, 0.0) >= _NEARLY * confidences[best]
    if is_near or not (best in _MULTIBYTE or _is_plausible(sample.decode(best, "replace"))):
        return _USUAL
    return best


def _is_damaged_utf8(block: bytes) -> bool:
    r"""Return whether a text is UTF-8 with some invalid bytes.

    >>> _is_damaged_utf8("Québec, Genève, Orléans, Besançon, Liège ".encode() + b"\xff")
    True
    >>> _is_damaged_utf8("Québec, Genève".encode("latin-1"))
    False
    """
    text = block.decode("utf-8", "replace")
    invalid = text.count("\ufffd")
    valid = len(text) - len(text.encode("ascii", "ignore")) - invalid
    return valid >= _VALID_FOR_INVALID * invalid


def _is_plausible(text: str) -> bool:
    """Return whether a decoded text looks like words of a natural language."""
    # In a wrong encoding, symbols become single letters or lone accents, and words mix letters of
    # two scripts.
    words = [word for word in _words(text) if not word.isascii()]
    return 2 * sum(map(_is_odd, words)) <= len(words) and not _LONE_ACCENTS.search(text)


def _is_odd(word: str) -> bool:
    latin = [*map(_is_latin, word)]
    return not all(latin) and (len(word) == 1 or any(latin))


def _words(text: str) -> Iterator[str]:
    groups = groupby(text, lambda character: unicodedata.category(character)[0] in "LM")
    return ("".join(group) for is_word, group in groups if is_word)


def _is_latin(letter: str) -> bool:
    return unicodedata.name(letter, "").startswith("LATIN")
