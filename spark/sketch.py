"""Distinct values by their hashes: counted, merged, and cut to the smallest.

A value is known by a 64-bit hash of its normal form. The k smallest hashes of a column are a
random sample of its distinct values, and the same random sample in every column: a value that
two columns share is kept by both or by neither, as far as both reach. So one cut serves as
sketch, as sample, and as estimate of how many distinct values there are (Beyer et al., "On
synopses for distinct-value estimation under multiset operations", SIGMOD 2007).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.normal import Hashes, Synonyms, hash_values

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """Distinct values of a column, in the order of their hashes."""

    hashes: Hashes
    """Hashes of normal forms, ascending, each once."""

    counts: Counts
    """Rows that hold each value."""

    written: pa.Array
    """Each value as its first row writes it."""

    def __len__(self) -> int:
        return len(self.hashes)

    def smallest(self, size: int) -> "Values":
        """The values with the smallest hashes.

        Args:
            size: How many to keep.

        Returns:
            All of them when there are no more than `size`.
        """
        return Values(self.hashes[:size], self.counts[:size], self.written[:size])

    def counted(self) -> "Values":
        """The same without the texts, which take most of the memory.

        Returns:
            The values, each with null for its text.
        """
        return Values(self.hashes, self.counts, pa.nulls(len(self), pa.string()))

    def translated(self, synonyms: Synonyms) -> "Values":
        """What the values stand for.

        Args:
            synonyms: Which of them mean the same.

        Returns:
            As many values or fewer.
        """
        return _gathered(synonyms.translate(self.hashes), self.counts, self.written)


def distinct_values(normal: pa.Array, counts: Counts, written: pa.Array) -> Values:
    """Gathers values whose normal forms are the same.

    Args:
        normal: Normal forms.
        counts: Rows of each.
        written: Each as written.

    Returns:
        The distinct values, with the rows of all their spellings and the first of these.
    """
    return _gathered(hash_values(normal), counts, written)


def merge(parts: Iterable[Values]) -> Values:
    """The distinct values of a column from those of its parts.

    Args:
        parts: One for each part, in the order of the rows.

    Returns:
        The distinct values of all parts. Cut to the k smallest, they are what cutting each part
        to k or more before gives, so parts may be cut as they come.
    """
    listed = list(parts)
    return _gathered(
        np.concatenate([part.hashes for part in listed]),
        np.concatenate([part.counts for part in listed]),
        pa.concat_arrays([part.written for part in listed]),
    )


def no_values() -> Values:
    """The distinct values of a column without rows."""
    return Values(np.zeros(0, np.uint64), np.zeros(0, np.int64), pa.array([], pa.string()))


def to_bytes(hashes: Hashes) -> bytes:
    """A sketch as a profile carries it.

    Args:
        hashes: Ascending.

    Returns:
        Eight bytes for each, little-endian: `numpy.frombuffer(sketch, "<u8")` reads them.

    Examples:
        >>> import numpy as np
        >>> to_bytes(np.array([1, 256], np.uint64)).hex()
        '01000000000000000001000000000000'
    """
    return hashes.astype("<u8").tobytes()


def estimate_distinct(hashes: Hashes, size: int) -> int:
    """How many distinct values a column has, from its smallest hashes.

    Hashes being uniform on [0, 2^64), the k-th smallest, h, lies near k / D of the way, and
    (k - 1) / (h / 2^64) is unbiased; its relative error is about 1 / sqrt(k - 2).

    Args:
        hashes: The smallest hashes, ascending: all of them, or more than `size`.
        size: Up to how many hashes are all there are, and the answer is exact.

    Returns:
        The count or its estimate.

    Examples:
        >>> import numpy as np
        >>> estimate_distinct(np.array([7, 9], np.uint64), size=4)
        2
        >>> estimate_distinct(np.array([2**62, 2**63], np.uint64), size=1)
        2
    """
    if len(hashes) <= size:
        return len(hashes)
    share = (int(hashes[-1]) + 1) / 2**64
    return max(len(hashes), round((len(hashes) - 1) / share))


def _gathered(hashes: Hashes, counts: Counts, written: pa.Array) -> Values:
    if not len(hashes):
        return no_values()
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return Values(
        ordered[first],
        np.add.reduceat(counts[order], first),
        pc.take(written, pa.array(order[first])),
    )
