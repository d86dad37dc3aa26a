"""The sketches of all columns as arrays, and the containment that they estimate.

A sketch holds the k smallest hashes of a column. Up to the smaller of their two greatest hashes,
two sketches are complete, so the share of common hashes in that range estimates containment
without bias (bottom-k estimator; Cohen and Kaplan, 2007).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int, UInt64

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.partition import number_distinct

_HASH_BYTES = 8
_UNLIMITED = np.iinfo(np.uint64).max
"""Up to this hash, a sketch is complete that holds the hashes of all values."""


@dataclass(frozen=True)
class SketchArrays:
    """The hashes in the sketches of all columns; those of equal sketches are stored once."""

    hashes: UInt64[np.ndarray, " hash"]
    """The hashes of all distinct sketches, ascending within each."""

    start: Int[np.ndarray, " column"]
    """Start of each column's sketch in `hashes`."""

    stop: Int[np.ndarray, " column"]
    """End of each column's sketch in `hashes`."""

    complete_up_to: UInt64[np.ndarray, " column"]
    """For each column, the hash up to which its sketch is complete."""

    @classmethod
    def of(cls, lake: Lake, sketches: Sequence[bytes]) -> "SketchArrays":
        """Build the arrays from the sketches of all columns.

        Args:
            sketches: The sketch of each column: of its normal forms, or of its values in another
                form.
        """
        distinct, number = number_distinct(sketches)
        hashes, bounds = concatenate_sketches(distinct)
        start, stop = bounds[number], bounds[number + 1]
        # A sketch of another form has fewer hashes than values if the form merges some, so only the
        # column's sketch of normal forms tells whether the sketches hold all values.
        complete = [
            hashes[end - 1] if profile.distinct_is_estimated else _UNLIMITED
            for profile, end in zip(lake.profiles, stop.tolist(), strict=True)
        ]
        return cls(hashes, start, stop, np.array(complete, dtype=np.uint64))

    @cached_property
    def _sizes(self) -> Int[np.ndarray, " column"]:
        return self.stop - self.start

    @cached_property
    def is_complete(self) -> Bool[np.ndarray, " column"]:
        """Whether each column's sketch holds the hashes of all its values."""
        return self.complete_up_to == _UNLIMITED

    def containment(
        self,
        left: Int[np.ndarray, " pair"],
        right: Int[np.ndarray, " pair"],
        shared: Int[np.ndarray, " pair"],
    ) -> Float[np.ndarray, " pair"]:
        """Estimate each left column's containment in the right one from shared hashes."""
        comparable = self._sizes[left]
        partial = np.flatnonzero(~(self.is_complete[left] & self.is_complete[right]))
        left, right = left[partial], right[partial]
        # Beyond the smaller of the two limits a hash may be missing from one of the sketches.
        threshold = np.minimum(self.complete_up_to[left], self.complete_up_to[right])
        comparable[partial] = _count_at_most(
            self.hashes, self.start[left], self.stop[left], threshold
        )
        return np.minimum(shared / np.maximum(comparable, 1), 1.0)


def concatenate_sketches(
    sketches: Sequence[bytes],
) -> tuple[UInt64[np.ndarray, " hash"], Int[np.ndarray, " _"]]:
    """Concatenate the hashes of all columns, and compute where each column starts."""
    hashes = np.frombuffer(b"".join(sketches), dtype="<u8")
    sizes = np.array([len(sketch) // _HASH_BYTES for sketch in sketches], dtype=np.int64)
    return hashes, np.concatenate([[0], np.cumsum(sizes)])


def _count_at_most(
    hashes: UInt64[np.ndarray, " hash"],
    start: Int[np.ndarray, " pair"],
    stop: Int[np.ndarray, " pair"],
    threshold: UInt64[np.ndarray, " pair"],
) -> Int[np.ndarray, " pair"]:
    """For each pair, count the hashes in `hashes[start:stop]` that do not exceed `threshold`.

    The hashes of each slice are in ascending order.
    """
    # Most slices are whole sketches of all values, which need no search.
    is_below = stop > start
    is_below[is_below] = hashes[stop[is_below] - 1] <= threshold[is_below]
    found = np.where(is_below, stop - start, 0)
    rest = np.flatnonzero(~is_below)
    found[rest] = _search(hashes, start[rest], stop[rest], threshold[rest]) - start[rest]
    return found


def _search(
    hashes: UInt64[np.ndarray, " hash"],
    start: Int[np.ndarray, " pair"],
    stop: Int[np.ndarray, " pair"],
    threshold: UInt64[np.ndarray, " pair"],
) -> Int[np.ndarray, " pair"]:
    """For each pair, find the first hash between `start` and `stop` that exceeds `threshold`.

    The result is its position in `hashes`, or `stop` if there is none.

    The binary searches of all pairs advance in step, which takes about log2(k) passes over the
    pairs instead of a Python loop over them.
    """
    low, high = start.copy(), stop.copy()
    while (searching := low < high).any():
        middle = (low + high) // 2
        below = np.zeros(len(low), dtype=bool)
        # A finished search may point past the last hash, so only the others are read.
        below[searching] = hashes[middle[searching]] <= threshold[searching]
        low = np.where(searching & below, middle + 1, low)
        high = np.where(searching & ~below, middle, high)
    return low
