"""Keeps deeply nested JSON from Arrow, whose parser ends the process at some depth."""

import io
import re

import numpy as np

from datahub_hyperjoin.spark.errors import TooDeepError
from datahub_hyperjoin.spark.files.compression import DecompressedFile

MOST_LEVELS = 200
"""Levels of nesting that are read."""
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_NEWLINE = ord("\n")


class ShallowLines(io.RawIOBase):
    """A stream of lines that refuses to read further when a line is nested too deeply.

    Args:
        source: The lines.
    """

    def __init__(self, source: DecompressedFile) -> None:
        super().__init__()
        self._source = source
        self._line = b""

    def readable(self) -> bool:
        """Return True, because the stream can be read."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Read the next bytes.

        Args:
            size: Number of bytes; all that are left if negative.

        Returns:
            The bytes; fewer than `size` at the end of the file.

        Raises:
            TooDeepError: A line among them is nested too deeply.
        """
        content = self._source.read(size)
        lines = self._line + content
        if _may_be_deep(lines) and any(depth(line) > MOST_LEVELS for line in lines.split(b"\n")):
            raise TooDeepError.beyond(MOST_LEVELS)
        self._line = lines[lines.rfind(b"\n") + 1 :]
        return content


def depth(line: bytes) -> int:
    r"""Return the number of levels to which the objects and lists of a line are nested.

    Args:
        line: A line of JSON, or its beginning.

    >>> depth(b'{"a": [[1]], "b": "[[[["}'), depth(b"[" * 9), depth(rb'"\"[["')
    (3, 9, 0)
    """
    if not _may_be_deep(line, most=0):
        return 0
    opens, closes = _brackets(_STRING.sub(b"", line))
    return int(np.cumsum(opens.astype(np.int8) - closes, dtype=np.int64).max(initial=0))


def _may_be_deep(lines: bytes, most: int = MOST_LEVELS) -> bool:
    """Return whether a line has more opening brackets than levels are allowed.

    Brackets inside strings count, too: telling them apart takes ten times as long.
    """
    codes = np.frombuffer(lines, np.uint8)
    opens = np.flatnonzero(_brackets(lines)[0])
    ends = np.searchsorted(opens, np.flatnonzero(codes == _NEWLINE))
    return int(np.diff(ends, prepend=0, append=len(opens)).max(initial=0)) > most


def _brackets(text: bytes) -> tuple[np.ndarray, np.ndarray]:
    # `[` and `{` differ in one bit, and so do `]` and `}`.
    codes = np.frombuffer(text, np.uint8) | np.uint8(0x20)
    return codes == ord("{"), codes == ord("}")
