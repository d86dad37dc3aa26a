"""Sequences of texts that need little memory."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import overload

import numpy as np
import numpy.typing as npt


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
