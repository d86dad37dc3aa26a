"""Detect the encoding of text that is not UTF-8."""

import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby

_DEFAULT = "cp1252"
_MULTIBYTE = ("cp932", "euc_jis_2004", "gb18030", "big5hkscs", "cp949")
_ENCODINGS = (
    *("cp1250", "cp1251", _DEFAULT, "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258"),
    *("iso8859-2", "iso8859-5", "iso8859-6", "iso8859-7", "iso8859-8", "iso8859-15"),
    *("koi8-r", "koi8-u", "cp866", "cp850", "cp852", "mac-roman", "cp874"),
    *_MULTIBYTE,
)
"""Encodings that programs still use for files. Rare encodings, such as the old one for Kazakh, are
left out, because only a few characters distinguish them from the encodings listed here."""
_ASCII = bytes(range(1 << 7))
_BYTES_EXAMINED = 1 << 14
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

    Returns:
        Python's name of the encoding; Windows-1252 if the text says too little.

    >>> detect_encoding("Россия, Беларусь, Казахстан".encode("cp1251"))
    'cp1251'
    >>> detect_encoding("Österreich, Köln, Dänemark".encode("cp1252"))
    'cp1252'
    """
    lines = b"\n".join(line for line in block.split(b"\n") if not line.isascii())
    sample = lines[:_BYTES_EXAMINED]
    if len({*sample.translate(None, _ASCII)}) < _FEWEST_BYTES:
        return _DEFAULT
    import chardet  # noqa: PLC0415 (most files are UTF-8)

    found = chardet.detect_all(
        sample, ignore_threshold=True, compat_names=False, include_encodings=_ENCODINGS
    )
    confidences = {str(each["encoding"]): each["confidence"] for each in found}
    best = max(confidences, key=lambda name: confidences[name])
    is_near = confidences.get(_DEFAULT, 0.0) >= _NEARLY * confidences[best]
    if is_near or not (best in _MULTIBYTE or _is_plausible(sample.decode(best, "replace"))):
        return _DEFAULT
    return best


def is_damaged_utf8(block: bytes) -> bool:
    r"""Return whether a text is UTF-8 with some invalid bytes.

    Args:
        block: The beginning of the text.

    >>> is_damaged_utf8("Québec, Genève, Orléans, Besançon, Liège ".encode() + b"\xff")
    True
    >>> is_damaged_utf8("Québec, Genève".encode("latin-1"))
    False
    """
    text = block.decode("utf-8", "replace")
    invalid = text.count("\ufffd")
    valid = len(text) - len(text.encode("ascii", "ignore")) - invalid
    return valid >= _VALID_FOR_INVALID * invalid


def _is_plausible(text: str) -> bool:
    """Return whether a decoded text looks like words of a natural language.

    In a wrong encoding, symbols become single letters or lone accents, and words mix letters of two
    scripts.
    """
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
