"""Distinct values by their hashes: counted, merged, and cut to the smallest.

A value is known by a 64-bit hash of its normal form. The k smallest hashes of a column are a
random sample of its distinct values, and the same random sample in every column: a value that
two columns share is kept by both or by neither, as far as both reach. So one cut serves as
sketch, as sample, and as estimate of how many distinct values there are (Beyer et al., "On
synopses for distinct-value estimation under multiset operations", SIGMOD 2007).
"""

import itertools
import sys
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from datahub_hyperjoin.arrow_bytes import Mask, Places, bounds_of, nth_of, reduce_each
from datahub_hyperjoin.normal_form import Hashes, Synonyms, hash_values

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class DistinctValues:
    """Distinct values of a column, in the order of their hashes."""

    hashes: Hashes
    """Hashes of normal forms, ascending, each once."""

    counts: Counts
    """Rows that hold each value."""

    written: pa.Array
    """Each value as its first row writes it."""

    def __len__(self) -> int:
        return len(self.hashes)

    def smallest(self, size: int) -> "DistinctValues":
        """The values with the smallest hashes.

        Args:
            size: How many to keep.

        Returns:
            All of them when there are no more than `size`.
        """
        if len(self) <= size:
            return self
        return DistinctValues(self.hashes[:size], self.counts[:size], self.written[:size])

    def counted(self) -> "DistinctValues":
        """The same without the texts, which take most of the memory.

        Returns:
            The values, each with null for its text.
        """
        return DistinctValues(self.hashes, self.counts, pa.nulls(len(self), pa.string()))

    def translated(self, synonyms: Synonyms) -> "DistinctValues":
        """What the values stand for.

        Args:
            synonyms: Which of them mean the same.

        Returns:
            As many values or fewer.
        """
        hashes = synonyms.translate(self.hashes)
        [found] = _gathered(hashes, self.counts, self.written, np.array([0, len(self)]))
        return found


NO_VALUES = DistinctValues(np.zeros(0, np.uint64), np.zeros(0, np.int64), pa.array([], pa.string()))
"""The distinct values of a column without rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Spellings:
    """What several columns hold, the values of one after those of another."""

    normal: pa.Array
    """Normal forms; those of a column may repeat."""

    counts: Counts
    """Rows of each."""

    written: pa.Array
    """Each as written."""

    bounds: Places
    """Where each column begins, and where the last one ends."""

    def chosen(self, rows: Mask) -> "Spellings":
        """Some of them.

        Args:
            rows: For each whether it is chosen.

        Returns:
            The same columns with what is chosen of them.
        """
        if rows.all():
            return self
        mask = pa.array(rows)
        return Spellings(
            self.normal.filter(mask),
            self.counts[rows],
            self.written.filter(mask),
            within_range(rows, self.bounds),
        )


def distinct_values(found: Spellings, size: int = sys.maxsize) -> list[DistinctValues]:
    """Gathers the spellings of each column whose normal forms are the same.

    Args:
        found: What the columns hold.
        size: Distinct values kept of each: those with the smallest hashes.

    Returns:
        For each column its values, with the rows of all their spellings and the first of these.
    """
    return _gathered(hash_values(found.normal), found.counts, found.written, found.bounds, size)


def within_range(chosen: Mask, bounds: Places) -> Places:
    """Where columns begin and end among the values that are chosen.

    Args:
        chosen: For each value whether it is.
        bounds: Where each column begins among all values, and where the last one ends.

    Returns:
        The bounds of what is left.

    Examples:
        >>> import numpy as np
        >>> within_range(np.array([True, False, True]), np.array([0, 2, 2, 3])).tolist()
        [0, 1, 1, 2]
    """
    return bounds_of(reduce_each(np.add, chosen, bounds))


def merge(parts: Iterable[DistinctValues]) -> DistinctValues:
    """The distinct values of a column from those of its parts.

    Args:
        parts: One for each part, in the order of the rows.

    Returns:
        The distinct values of all parts. Cut to the k smallest, they are what cutting each part
        to k or more before gives, so parts may be cut as they come.
    """
    listed = list(parts)
    [found] = _gathered(
        np.concatenate([part.hashes for part in listed]),
        np.concatenate([part.counts for part in listed]),
        pa.concat_arrays([part.written for part in listed]),
        np.array([0, sum(map(len, listed))]),
    )
    return found


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
    return hashes.astype("<u8", copy=False).tobytes()


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


def _gathered(
    hashes: Hashes, counts: Counts, written: pa.Array, bounds: Places, size: int = sys.maxsize
) -> list[DistinctValues]:
    if not len(hashes):
        return [NO_VALUES] * (len(bounds) - 1)
    order = np.empty(len(hashes), np.int64)
    for begin, end in itertools.pairwise(bounds.tolist()):
        order[begin:end] = hashes[begin:end].argsort()
    order += np.repeat(bounds[:-1], np.diff(bounds))
    ordered = hashes[order]
    fresh = np.ones(len(hashes), np.bool_)
    fresh[1:] = ordered[1:] != ordered[:-1]
    fresh[bounds[:-1][np.diff(bounds) > 0]] = True
    first = np.flatnonzero(fresh)
    counts, rows = counts[order], order
    if len(first) < len(order):
        # The sort is not stable: of equal hashes, the first row is the smallest place.
        counts, rows = np.add.reduceat(counts, first), np.minimum.reduceat(rows, first)
    ends = within_range(fresh, bounds)
    kept = nth_of(ends) < size
    hashes, counts = ordered[first[kept]], counts[kept]
    written = written.take(pa.array(rows[kept]))
    return [
        DistinctValues(hashes[begin:end], counts[begin:end], written[begin:end])
        for begin, end in itertools.pairwise(within_range(kept, ends).tolist())
    ]
