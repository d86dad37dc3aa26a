"""Strings of an Arrow array as the bytes they are, to look at many of them in one stroke.

A regular expression asks each value anew; one comparison of all bytes tells which few of them
are worth asking.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Mask = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]

_TOGETHER = 1 << 22
"""Bytes of strings that are looked at together: those of many columns, and yet not much memory."""


def bounds_of(sizes: npt.ArrayLike) -> Places:
    """Where things lie that are put end to end.

    Args:
        sizes: The size of each.

    Returns:
        Where each begins, and where the last one ends.

    Examples:
        >>> bounds_of([2, 0, 3]).tolist()
        [0, 2, 2, 5]
    """
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, np.int64))])


def reduce_each(
    ufunc: np.ufunc,
    values: npt.NDArray[Any],
    bounds: npt.NDArray[np.signedinteger],
    dtype: npt.DTypeLike = np.int64,
) -> npt.NDArray[Any]:
    """Reduces each of several sequences that lie end to end.

    Args:
        ufunc: What joins two of their values.
        values: The sequences.
        bounds: Where each begins, and where the last one ends.
        dtype: Of the result.

    Returns:
        One for each sequence; 0 for one that is empty.

    Examples:
        >>> reduce_each(np.add, np.array([3, 4, 5]), np.array([0, 2, 2, 3])).tolist()
        [7, 0, 5]
    """
    sizes = np.diff(bounds)
    filled = slice(None) if sizes.all() else np.flatnonzero(sizes)
    found = np.zeros(len(sizes), dtype)
    if len(values):
        found[filled] = ufunc.reduceat(values, bounds[:-1][filled], dtype=dtype)
    return found


def nth_of(bounds: Places) -> Places:
    """Which of its sequence each item is, of sequences that lie end to end.

    Args:
        bounds: Where each begins, and where the last one ends.

    Returns:
        From 0, for each item.

    Examples:
        >>> nth_of(np.array([0, 2, 2, 5])).tolist()
        [0, 1, 0, 1, 2]
    """
    return np.arange(bounds[-1]) - np.repeat(bounds[:-1], np.diff(bounds))


def cut(sizes: Sequence[int], most: int = _TOGETHER) -> Iterator[slice]:
    """Cuts a sequence into parts that are no greater than memory allows.

    Args:
        sizes: Bytes that each item takes.
        most: Bytes that a part may take, unless it is a single item.

    Yields:
        The parts, in order.

    Examples:
        >>> [(part.start, part.stop) for part in cut([2, 2, 9, 1], most=4)]
        [(0, 2), (2, 3), (3, 4)]
    """
    begin = taken = 0
    for at, size in enumerate(sizes):
        taken += size
        if taken > most and at > begin:
            yield slice(begin, at)
            begin, taken = at, size
    if sizes:
        yield slice(begin, len(sizes))


@dataclass(frozen=True, slots=True, eq=False)
class StringBytes:
    """Strings in UTF-8, end to end."""

    data: Bytes
    """All bytes."""

    bounds: npt.NDArray[np.int32]
    """Where each string begins, and where the last one ends."""

    lengths: npt.NDArray[np.int32]
    """Bytes of each string."""

    @classmethod
    def of(cls, strings: pa.Array) -> "StringBytes":
        """The bytes of an array, which are not copied.

        Args:
            strings: Of Arrow's type `string`, without nulls.

        Returns:
            Its view.
        """
        _, offsets, data = strings.buffers()
        if not len(strings) or data is None:
            nothing = np.zeros(0, np.uint8)
            return cls(nothing, np.zeros(len(strings) + 1, np.int32), np.zeros(len(strings), "i4"))
        bounds = np.frombuffer(offsets, np.int32)[strings.offset :][: len(strings) + 1]
        held = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]
        return cls(held, bounds - bounds[0], np.diff(bounds))

    def at(self, place: int, rows: Places | slice = slice(None)) -> Bytes:
        r"""One byte of each string.

        Args:
            place: Which byte, from 0; from the end if negative.
            rows: Of which strings.

        Returns:
            As many bytes; 0 for a string that is too short.

        Examples:
            >>> StringBytes.of(pa.array(["abc", "", "d"])).at(-1).tobytes()
            b'c\x00d'
        """
        edges = self.bounds[1:] if place < 0 else self.bounds[:-1]
        needed = -place if place < 0 else place + 1
        if not len(self.data):
            return np.zeros(len(edges[rows]), np.uint8)
        found = self.data.take(edges[rows] + place, mode="clip")
        found[self.lengths[rows] < needed] = 0
        return found

    def having(self, marked: Mask) -> Mask:
        """Which strings have a byte that is marked.

        Args:
            marked: One for each byte of `data`.

        Returns:
            One for each string.

        Examples:
            >>> strings = StringBytes.of(pa.array(["a-b", "", "-", "c"]))
            >>> strings.having(strings.data == ord("-"))
            array([ True, False,  True, False])
        """
        if not marked.any():
            return np.zeros(len(self.lengths), np.bool_)
        return reduce_each(np.logical_or, marked, self.bounds, np.bool_)

    def count(self, marked: Mask) -> npt.NDArray[np.int32]:
        """How many bytes of each string are marked.

        Args:
            marked: One for each byte of `data`.

        Returns:
            One for each string.

        Examples:
            >>> strings = StringBytes.of(pa.array(["a-b", "", "--", "c"]))
            >>> strings.count(strings.data == ord("-")).tolist()
            [1, 0, 2, 0]
        """
        return reduce_each(np.add, marked, self.bounds, np.int32)

    def translated(self, table: bytes) -> Bytes:
        """What stands for each byte.

        Args:
            table: For each of the 256 bytes another.

        Returns:
            One for each byte of `data`, in an array of its own.
        """
        return np.frombuffer(bytearray(self.data).translate(table), np.uint8)

    def classes(self, table: bytes) -> Bytes:
        """What kinds of bytes each string has.

        Args:
            table: For each of the 256 bytes a bit, or several.

        Returns:
            For each string the bits of its bytes.

        Examples:
            >>> letter_or_more = bytes(1 if chr(byte).isalpha() else 2 for byte in range(256))
            >>> StringBytes.of(pa.array(["ab", "", "a-b", "-"])).classes(letter_or_more).tolist()
            [1, 0, 3, 2]
        """
        return reduce_each(np.bitwise_or, self.translated(table), self.bounds, np.uint8)
