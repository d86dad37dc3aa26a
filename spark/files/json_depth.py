"""Refuse JSON that is nested too deeply, because Arrow's parser would crash."""

import io
import re
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from datahub_hyperjoin.spark.errors import TooDeepError
from datahub_hyperjoin.spark.files.compression import DecompressedFile

MOST_LEVELS = 200
"""Maximum number of levels to which JSON that is read may be nested."""
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_OPEN, _CLOSE = ord("{"), ord("}")


class ShallowLines(io.RawIOBase):
    """A stream of JSON Lines that raises an error if a line is nested too deeply."""

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
        """
        content = self._source.read(size)
        lines = self._line + content
        if _has_many_brackets(lines) and any(map(is_deep, lines.split(b"\n"))):
            raise TooDeepError.beyond(MOST_LEVELS)
        self._line = lines[lines.rfind(b"\n") + 1 :]
        return content


def is_deep(line: bytes) -> bool:
    r"""Return whether a line of JSON is nested too deeply.

    Args:
        line: A line of JSON, or its beginning.

    >>> is_deep(b"[" * 201), is_deep(b"[" * 200), is_deep(b'"' + b"[" * 201), is_deep(b"[]" * 201)
    (True, False, False, False)
    """
    if line.count(b"[") + line.count(b"{") <= MOST_LEVELS:
        return False
    codes = _codes(_STRING.sub(b"", line))
    steps = (codes == _OPEN).astype(np.int8) - (codes == _CLOSE)
    return int(np.cumsum(steps, dtype=np.int64).max(initial=0)) > MOST_LEVELS


def _has_many_brackets(lines: bytes) -> bool:
    """Return whether a line has so many opening brackets that it may be nested too deeply.

    Brackets inside strings count, too: telling them apart takes ten times as long. A line with
    too many brackets has all of a stretch that begins and ends at every hundredth.
    """
    opens = np.flatnonzero(_codes(lines) == _OPEN)[:: MOST_LEVELS // 2].tolist()
    return any(lines.find(b"\n", begin, end) < 0 for begin, end in pairwise(opens))


def _codes(text: bytes) -> npt.NDArray[np.uint8]:
    # `[` and `{` differ in one bit, and so do `]` and `}`.
    return np.frombuffer(text, np.uint8) | np.uint8(0x20)
