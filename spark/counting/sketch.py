"""Sketches, which represent a column by the smallest hashes of its values.

A value is identified by a 64-bit hash of its normal form. The k smallest hashes of a column are a
random sample of its distinct values, and every column is sampled in the same way: a value that two
columns share is kept by both or by neither, up to the smaller of the largest hashes kept. One cut
therefore serves as sketch, as sample and as basis of the estimated number of distinct values (Beyer
et al., "On synopses for distinct-value estimation under multiset operations", SIGMOD 2007).
"""

import itertools
import sys
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from datahub_hyperjoin.arrow_bytes import (
    Indices,
    Mask,
    bounds_of,
    index_within,
    reduce_each,
    starts_run,
)
from datahub_hyperjoin.normal_form import Hashes, Synonyms, hash_values
from datahub_hyperjoin.tables import ValueHash

Counts = npt.NDArray[np.int64]

_MOST_WAITING, _MOST_PARTS = 1 << 22, 4
"""Number of hashes that wait to be counted together, and of counted parts that wait to be merged,
which bound the memory of a long column whose values repeat."""


@dataclass(frozen=True, slots=True, eq=False)
class DistinctValues:
    """The distinct values of a column, sorted by hash."""

    hashes: Hashes
    """Hashes of the normal forms, in ascending order, without duplicates."""

    counts: Counts
    """Number of rows that hold each value."""

    texts: pa.Array
    """The shortest text of each value; of equally short ones, the first in the order of texts."""

    def __len__(self) -> int:
        return len(self.hashes)

    def smallest(self, size: int) -> "DistinctValues":
        """Return the values with the smallest hashes."""
        if len(self) <= size:
            return self
        return DistinctValues(self.hashes[:size], self.counts[:size], self.texts[:size])

    def where(self, mask: Mask) -> "DistinctValues":
        """Return the values that a mask selects."""
        if mask.all():
            return self
        return DistinctValues(
            self.hashes[mask], self.counts[mask], self.texts.filter(pa.array(mask))
        )

    @classmethod
    def without_texts(cls, hashes: Hashes, counts: Counts) -> "DistinctValues":
        """Return values without their texts, which would take most of the memory."""
        return cls(hashes, counts, pa.nulls(len(hashes), pa.string()))

    def translate(self, synonyms: Synonyms) -> "DistinctValues":
        """Merge values that are synonyms, so that there may be fewer meanings than values."""
        meanings = synonyms.translate(self.hashes)
        [translated] = _group_by_hash(meanings, self.counts, self.texts, np.array([0, len(self)]))
        return translated


NO_VALUES = DistinctValues(np.zeros(0, np.uint64), np.zeros(0, np.int64), pa.array([], pa.string()))
"""The distinct values of a column without rows."""


@dataclass(frozen=True, slots=True, eq=False)
class ValueCounts:
    """The texts of several columns, with the number of rows that contain each text.

    The columns are stored one after the other.
    """

    normal: pa.Array
    """Normal forms; they may repeat within a column."""

    counts: Counts
    """Number of rows that hold each text."""

    texts: pa.Array
    """The texts."""

    bounds: Indices
    """Start of each column, and the end of the last one."""

    def filter(self, mask: Mask) -> "ValueCounts":
        """Return only the texts that a mask selects."""
        if mask.all():
            return self
        arrow_mask = pa.array(mask)
        return ValueCounts(
            self.normal.filter(arrow_mask),
            self.counts[mask],
            self.texts.filter(arrow_mask),
            filtered_bounds(mask, self.bounds),
        )


def distinct_values(
    entries: ValueCounts, size: int = sys.maxsize, value_hash: ValueHash = ValueHash.SIPHASH
) -> list[DistinctValues]:
    """In each column, merge texts of the same normal form, and keep at most `size` distinct values.

    Those with the smallest hashes are kept. A value has the row counts of all its texts and the
    shortest of these texts.
    """
    hashes = hash_values(entries.normal, value_hash)
    return _group_by_hash(hashes, entries.counts, entries.texts, entries.bounds, size)


def filtered_bounds(mask: Mask, bounds: Indices) -> Indices:
    """Compute the start of each column among the values that a mask keeps, and the end of the last.

    Examples:
        >>> import numpy as np
        >>> filtered_bounds(np.array([True, False, True]), np.array([0, 2, 2, 3])).tolist()
        [0, 1, 1, 2]
    """
    return bounds_of(reduce_each(np.add, mask, bounds))


def merge_values(parts: Iterable[DistinctValues]) -> DistinctValues:
    """Merge the distinct values of several parts of a column.

    Merging commutes with cutting: the k smallest values of the result are the same if each part
    was cut to k or more values before. Parts can therefore be cut as soon as they are counted.
    """
    values = list(parts)
    [merged] = _group_by_hash(
        np.concatenate([part.hashes for part in values]),
        np.concatenate([part.counts for part in values]),
        pa.concat_arrays([part.texts for part in values]),
        np.array([0, sum(map(len, values))]),
    )
    return merged


class HashCounts:
    """Counts hashes, which need not be distinct, part by part."""

    def __init__(self) -> None:
        self._waiting: list[Hashes] = []
        self._counted: list[DistinctValues] = []

    def add(self, hashes: Hashes) -> None:
        """Add the hashes of some rows."""
        self._waiting.append(hashes)
        # All are sorted at once: to sort each part and to merge them takes several times as long.
        if sum(map(len, self._waiting)) >= _MOST_WAITING:
            self._count()

    def values(self) -> DistinctValues:
        """Return the distinct hashes, without texts, and the number of rows of each."""
        self._count()
        [first, *others] = self._counted
        return merge_values(self._counted) if others else first

    def _count(self) -> None:
        ordered = np.sort(np.concatenate([*self._waiting, NO_VALUES.hashes]))
        starts = np.flatnonzero(starts_run(ordered))
        counts = np.diff(starts, append=len(ordered))
        self._counted.append(DistinctValues.without_texts(ordered[starts], counts))
        self._waiting = []
        if len(self._counted) == _MOST_PARTS:
            self._counted = [merge_values(self._counted)]


def to_bytes(hashes: Hashes) -> bytes:
    """Serialize a sketch.

    Examples:
        >>> import numpy as np
        >>> to_bytes(np.array([1, 256], np.uint64)).hex()
        '01000000000000000001000000000000'
    """
    return hashes.astype("<u8", copy=False).tobytes()


def estimate_distinct(hashes: Hashes, size: int) -> int:
    """Estimate a column's number of distinct values from its smallest hashes.

    Hashes are uniform on [0, 2^64), so the k-th smallest, h, is near (k / D) 2^64, and
    (k - 1) / (h / 2^64) is an unbiased estimate of D. Its relative error is about 1 / sqrt(k - 2).

    The hashes are ascending, and all of them, or more than `size`.

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


def _group_by_hash(
    hashes: Hashes, counts: Counts, texts: pa.Array, bounds: Indices, size: int = sys.maxsize
) -> list[DistinctValues]:
    """In each column, group values by hash, and keep the groups with the smallest hashes.

    Each column is sorted on its own, which is faster than one sort by column and hash. Equal hashes
    are then adjacent, so a group starts wherever the hash or the column changes, and one reduction
    over all groups sums their counts.
    """
    if not len(hashes):
        return [NO_VALUES] * (len(bounds) - 1)
    order = np.empty(len(hashes), np.int64)
    for begin, end in itertools.pairwise(bounds.tolist()):
        order[begin:end] = hashes[begin:end].argsort()
    order += np.repeat(bounds[:-1], np.diff(bounds))
    ordered = hashes[order]
    starts_group = starts_run(ordered)
    starts_group[bounds[:-1][np.diff(bounds) > 0]] = True
    starts = np.flatnonzero(starts_group)
    counts, rows = counts[order], order
    if len(starts) < len(order):
        counts, rows = np.add.reduceat(counts, starts), _least_texts(texts, order, starts)
    group_bounds = filtered_bounds(starts_group, bounds)
    is_kept = index_within(group_bounds) < size
    hashes, counts = ordered[starts[is_kept]], counts[is_kept]
    texts = texts.take(pa.array(rows[is_kept]))
    return [
        DistinctValues(hashes[begin:end], counts[begin:end], texts[begin:end])
        for begin, end in itertools.pairwise(filtered_bounds(is_kept, group_bounds).tolist())
    ]


def _least_texts(texts: pa.Array, order: Indices, starts: Indices) -> Indices:
    """For each group of values with the same normal form, return the index of the shortest text.

    Which text comes first depends on the order of the rows, so the text itself decides. Most groups
    have only one text, and few texts need to be sorted.
    """
    least = order[starts]
    if texts.null_count == len(texts):  # They were dropped to save memory.
        return least
    sizes = np.diff(starts, append=len(order))
    group = np.repeat(np.arange(len(starts)), sizes)
    repeated = np.flatnonzero((sizes > 1)[group])
    members = order[repeated]
    same = pc.equal(texts.take(pa.array(members)), texts.take(pa.array(least[group[repeated]])))
    differs = np.zeros(len(starts), np.bool_)
    differs[group[repeated[~same.fill_null(True).to_numpy(zero_copy_only=False)]]] = True  # noqa: FBT003
    unsure = repeated[differs[group[repeated]]]
    if not len(unsure):
        return least
    written = texts.take(pa.array(order[unsure]))
    columns = pa.array(group[unsure]), pc.utf8_length(written), written
    by_group = pa.table([*columns], names=["group", "length", "text"])
    keys = [(name, "ascending") for name in by_group.column_names]
    ranked = pc.sort_indices(by_group, sort_keys=keys).to_numpy()
    groups, first = np.unique(group[unsure][ranked], return_index=True)
    least[groups] = order[unsure][ranked[first]]
    return least
