"""Vectorised operations on the bytes of many strings.

A regular expression runs once per value. One comparison of all bytes first finds the few values
that need a regular expression.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Mask = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Indices = npt.NDArray[np.int64]
_Number = TypeVar("_Number", bound=np.generic)

MOST_KEY_BYTES = 64
"""Maximum length of bytes that are compared, which is that of the longest usual digests. Longer
ones, such as images, are no keys."""
_HEX_DIGITS = np.array([f"{byte:02x}".encode() for byte in range(256)], "S2").view(np.uint16)
"""The two hexadecimal digits of each byte."""
_CHUNK_BYTES = 1 << 22
"""Bytes of a chunk, which holds the strings of many columns but needs little memory."""


def bounds_of(sizes: npt.ArrayLike) -> Indices:
    """Convert the lengths of concatenated sequences to the positions of their boundaries.

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
    """Reduce each concatenated sequence between `bounds_of` its sizes to one value.

    >>> reduce_each(np.add, np.array([3, 4, 5]), np.array([0, 2, 2, 3])).tolist()
    [7, 0, 5]
    """
    sizes = np.diff(bounds)
    # For an empty sequence, `reduceat` would return the first value of the next one.
    filled = slice(None) if sizes.all() else np.flatnonzero(sizes)
    reduced = np.zeros(len(sizes), dtype)
    if len(values):
        reduced[filled] = ufunc.reduceat(values, bounds[:-1][filled], dtype=dtype)
    return reduced


def distinct(values: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """Return the distinct numbers in ascending order.

    NumPy's own function builds a hash table, which takes up to seventy times as long.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(values)
    return ordered[starts_run(ordered)]


def count_distinct(values: npt.NDArray[Any]) -> int:
    """Count the distinct numbers.

    >>> count_distinct(np.array([3, 1, 3]))
    2
    """
    return int(np.count_nonzero(starts_run(np.sort(values))))


def starts_run(ordered: npt.NDArray[Any]) -> Mask:
    """Mark the first of each run of equal numbers.

    >>> starts_run(np.array([1, 1, 3])).tolist()
    [True, False, True]
    """
    starts = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=starts[1:])
    return starts


def index_within(bounds: Indices) -> Indices:
    """Number the items of several concatenated sequences, from 0 in each sequence.

    >>> index_within(np.array([0, 2, 2, 5])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(bounds[-1]) - np.repeat(bounds[:-1], np.diff(bounds))


def chunks_of(sizes: Sequence[int], limit: int = _CHUNK_BYTES) -> Iterator[slice]:
    """Yield slices that split a sequence into chunks of at most `limit` bytes.

    >>> [(chunk.start, chunk.stop) for chunk in chunks_of([2, 2, 9, 1], limit=4)]
    [(0, 2), (2, 3), (3, 4)]
    """
    start = total = 0
    for index, size in enumerate(sizes):
        total += size
        if total > limit and index > start:
            yield slice(start, index)
            start, total = index, size
    if sizes:
        yield slice(start, len(sizes))


def hex_digits(values: pa.Array) -> pa.Array:
    r"""Write bytes as hexadecimal digits in small letters.

    >>> hex_digits(pa.array([b"\x01\xff", None, b"", bytes(65)])).to_pylist()
    ['01ff', None, '', None]
    """
    whole = values.cast(pa.binary())
    kept = pc.if_else(pc.less_equal(pc.binary_length(whole), MOST_KEY_BYTES), whole, None)
    strings = StringBytes.of(pc.fill_null(kept, b""))
    digits = _HEX_DIGITS[strings.data].tobytes()
    offsets = pa.py_buffer(2 * strings.bounds.astype(np.int32))
    written = pa.StringArray.from_buffers(len(kept), offsets, pa.py_buffer(digits))
    return pc.if_else(pc.is_valid(kept), written, None)


@dataclass(frozen=True, slots=True, eq=False)
class StringBytes:
    """An array of strings, stored as their concatenated UTF-8 bytes."""

    data: Bytes
    """The bytes of all strings."""

    bounds: npt.NDArray[np.int32]
    """The start of each string, followed by the end of the last one."""

    lengths: npt.NDArray[np.int32]
    """Number of bytes of each string."""

    @classmethod
    def of(cls, strings: pa.Array) -> "StringBytes":
        """Create a view of an Arrow array of strings without copying its bytes."""
        _, offsets, data = strings.buffers()
        if not len(strings) or data is None:
            no_bytes = np.zeros(0, np.uint8)
            return cls(no_bytes, np.zeros(len(strings) + 1, np.int32), np.zeros(len(strings), "i4"))
        bounds = np.frombuffer(offsets, np.int32)[strings.offset :][: len(strings) + 1]
        used = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]
        return cls(used, bounds - bounds[0], np.diff(bounds))

    def at(self, position: int, rows: Indices | slice = slice(None)) -> Bytes:
        r"""Return the byte at a given position of each string.

        >>> StringBytes.of(pa.array(["abc", "", "d"])).at(-1).tobytes()
        b'c\x00d'
        """
        edges = self.bounds[1:] if position < 0 else self.bounds[:-1]
        min_length = -position if position < 0 else position + 1
        if not len(self.data):
            return np.zeros(len(edges[rows]), np.uint8)
        # Positions beyond a string read a neighbour's byte, which the next line clears.
        taken = self.data.take(edges[rows] + position, mode="clip")
        taken[self.lengths[rows] < min_length] = 0
        return taken

    def containing(self, marked: Mask) -> Mask:
        """Return a mask of the strings that contain at least one marked byte.

        >>> strings = StringBytes.of(pa.array(["a-b", "", "-", "c"]))
        >>> strings.containing(strings.data == ord("-"))
        array([ True, False,  True, False])
        """
        if not marked.any():
            return np.zeros(len(self.lengths), np.bool_)
        return reduce_each(np.logical_or, marked, self.bounds, np.bool_)

    def count(self, marked: Mask) -> npt.NDArray[np.int32]:
        """Count the marked bytes in each string.

        >>> strings = StringBytes.of(pa.array(["a-b", "", "--", "c"]))
        >>> strings.count(strings.data == ord("-")).tolist()
        [1, 0, 2, 0]
        """
        return reduce_each(np.add, marked, self.bounds, np.int32)

    def translate(self, table: bytes) -> Bytes:
        """Replace each byte with its entry in a lookup table."""
        return np.frombuffer(bytearray(self.data).translate(table), np.uint8)

    def classes(self, table: bytes) -> Bytes:
        """For each string, return the bitwise OR of the bits that `table` assigns to its bytes.

        A bit stands for a class of bytes, so the result tells which classes occur in the string.

        >>> letter_or_more = bytes(1 if chr(byte).isalpha() else 2 for byte in range(256))
        >>> StringBytes.of(pa.array(["ab", "", "a-b", "-"])).classes(letter_or_more).tolist()
        [1, 0, 3, 2]
        """
        return reduce_each(np.bitwise_or, self.translate(table), self.bounds, np.uint8)


class PackedTexts(Sequence[str]):
    """An immutable sequence of texts, which share one string of bytes.

    A string of Python takes 49 bytes besides its characters, and 8 in a tuple; here, a text takes 4
    besides its own. All texts are unpacked at each access, so a loop over them is much faster than
    reading them by their indices.

    >>> towns = PackedTexts.of(["Oslo", "Zürich", "Rome"])
    >>> len(towns), towns[1], towns[1:]
    (3, 'Zürich', ('Zürich', 'Rome'))
    >>> towns == ("Oslo", "Zürich", "Rome")
    True
    """

    __slots__ = ("_ends", "_utf8")

    def __init__(self, utf8: bytes, ends: npt.ArrayLike) -> None:
        self._utf8 = utf8
        # Bytes take a quarter of the memory of an array of so few numbers.
        self._ends = np.asarray(ends, dtype=np.uint32).tobytes()

    @classmethod
    def of(cls, texts: Iterable[str]) -> "PackedTexts":
        """Pack some texts, unless they are packed already."""
        if isinstance(texts, PackedTexts):
            return texts
        encoded = [text.encode() for text in texts]
        return cls(b"".join(encoded), [*accumulate(map(len, encoded))])

    def _unpack(self) -> tuple[str, ...]:
        bounds = pairwise([0, *np.frombuffer(self._ends, np.uint32).tolist()])
        if self._utf8.isascii():
            # Each character is a byte, so decoding all at once is twice as fast.
            joined = self._utf8.decode("ascii")
            return tuple([joined[start:stop] for start, stop in bounds])
        return tuple([self._utf8[start:stop].decode() for start, stop in bounds])

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        return self._unpack()[index]

    def __len__(self) -> int:
        return len(self._ends) // np.dtype(np.uint32).itemsize

    def __iter__(self) -> Iterator[str]:
        return iter(self._unpack())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PackedTexts):
            return (self._utf8, self._ends) == (other._utf8, other._ends)
        return isinstance(other, tuple) and self._unpack() == other

    def __hash__(self) -> int:
        return hash(self._unpack())

    def __repr__(self) -> str:
        return repr(self._unpack())
