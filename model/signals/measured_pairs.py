"""Collect measured pairs of columns part by part, in little more memory than the pairs take."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from datahub_hyperjoin.model.signals.pairs import number_pairs


class MeasuredPairs(NamedTuple):
    """Pairs of columns, and what the two columns of each pair have in common."""

    left: Int[np.ndarray, " pair"]
    right: Int[np.ndarray, " pair"]
    shared: Int[np.ndarray, " pair"]
    """Number of hashes that both columns hold."""

    containment: Float[np.ndarray, " pair"]
    """Share of the left column's values that the right one holds, in [0, 1]."""

    @classmethod
    def none(cls) -> "MeasuredPairs":
        """Return an instance without pairs."""
        none = np.zeros(0, dtype=np.int32)
        return cls(none, none, none, np.zeros(0, dtype=np.float32))

    def narrow(self) -> "MeasuredPairs":
        """Return the pairs with numbers of 32 bits."""
        ends = self.left.astype(np.int32), self.right.astype(np.int32)
        return MeasuredPairs(
            *ends, self.shared.astype(np.int32), self.containment.astype(np.float32)
        )

    def at(
        self, chosen: Int[np.ndarray, " chosen"] | Bool[np.ndarray, " pair"] | slice
    ) -> "MeasuredPairs":
        """Return some of the pairs."""
        return MeasuredPairs(*(values[chosen] for values in self))

    def without_repeats(self, columns: int) -> "MeasuredPairs":
        """Sort the pairs by left, then right column, and keep the first of equal pairs."""
        _, first = np.unique(number_pairs(self.left, self.right, columns), return_index=True)
        return self.at(first)


def concatenate_pairs(parts: Sequence[MeasuredPairs]) -> MeasuredPairs:
    """Concatenate the pairs of all parts."""
    return MeasuredPairs(*map(np.concatenate, zip(MeasuredPairs.none(), *parts, strict=True)))


def add_pairs(parts: list[MeasuredPairs], added: MeasuredPairs, columns: int) -> None:
    """Merge further pairs into parts, so that all pairs with one left column stay in one part.

    One part after another takes much less memory than sorting all pairs.
    """
    part_of = np.full(columns, len(parts))
    for number, part in enumerate(parts):
        part_of[part.left] = number
    added = added.without_repeats(columns)
    added = added.at(np.argsort(part_of[added.left], kind="stable"))
    bounds = np.searchsorted(part_of[added.left], np.arange(len(parts) + 2)).tolist()
    for number, part in enumerate(parts):
        if bounds[number] < bounds[number + 1]:
            both = [added.at(slice(bounds[number], bounds[number + 1])), part]
            parts[number] = concatenate_pairs(both).without_repeats(columns)
    parts.append(added.at(slice(*bounds[-2:])))


def merge_pairs(parts: list[MeasuredPairs], columns: int) -> MeasuredPairs:
    """Merge all parts into pairs that are sorted by left, then right column.

    Args:
        parts: All pairs with the same left column are in one of the parts, next to each other, and
            sorted by their right columns. The list is empty afterwards, so that most pairs are in
            memory only once.
    """
    counts = np.zeros(columns, dtype=np.int64)
    for part in parts:
        left, count = np.unique(part.left, return_counts=True)
        counts[left] = count
    starts = np.cumsum(counts) - counts
    lefts, *others = ([*values] for values in zip(MeasuredPairs.none(), *parts, strict=True))
    parts.clear()
    merged = []
    while others:
        # Only one of the arrays is in memory twice at a time.
        values = others.pop(0)
        whole = np.empty(int(counts.sum()), dtype=values[0].dtype)
        for left, of_part in zip(lefts, values, strict=True):
            whole[_positions(starts, left)] = of_part
        merged.append(whole)
    return MeasuredPairs(np.repeat(np.arange(columns, dtype=np.int32), counts), *merged)


def _positions(
    starts: Int[np.ndarray, " column"], left: Int[np.ndarray, " pair"]
) -> Int[np.ndarray, " pair"]:
    """Return the positions of a part's pairs among all pairs.

    `starts` is the position of the first pair of each left column.
    """
    number = np.arange(len(left))
    is_first = np.diff(left, prepend=-1) != 0
    return starts[left] + number - np.maximum.accumulate(number * is_first)
