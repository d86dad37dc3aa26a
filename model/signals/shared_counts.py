"""Count the hashes that two columns share, very common hashes included."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Int, UInt64

from datahub_hyperjoin.model.signals.measured_pairs import MeasuredPairs, concatenate_pairs
from datahub_hyperjoin.model.signals.pairs import SparsePairs, values_at
from datahub_hyperjoin.model.signals.shared_values import count_common_hashes
from datahub_hyperjoin.model.signals.sketches import concatenate_sketches


@dataclass(frozen=True)
class SharedCounts:
    """The counts of a lake's pairs that are known already, and the hashes that remain to count."""

    pairs: SparsePairs
    """The pairs that share a hash."""

    shared: Int[np.ndarray, " pair"]
    """For each of these pairs, the number of hashes that both columns hold."""

    sketches: Sequence[bytes]
    """Of each column, the hashes that these numbers leave out."""

    @classmethod
    def of(
        cls,
        parts: Sequence[MeasuredPairs],
        sketches: Sequence[bytes],
        frequent: UInt64[np.ndarray, " value"],
        is_cut: Bool[np.ndarray, " column"],
    ) -> "SharedCounts":
        """Collect what is known from measured pairs.

        If some pairs were left out, a missing pair may share hashes nevertheless, so nothing is
        known. Otherwise, only the frequent hashes remain to count.

        Args:
            parts: The measured pairs, in both orders, each once.
            is_cut: The columns of which some pairs were left out.
        """
        columns = len(sketches)
        if is_cut.any():
            known, remaining = MeasuredPairs.none(), sketches
        else:
            known = concatenate_pairs(parts).without_repeats(columns)
            remaining = _keep_hashes(sketches, frequent)
        return cls(SparsePairs(columns, known.left, known.right), known.shared, remaining)

    def common(
        self, left: Int[np.ndarray, " pair"], right: Int[np.ndarray, " pair"]
    ) -> Int[np.ndarray, " pair"]:
        """For each pair of columns from different tables, count the hashes that both have."""
        known = values_at(self.shared, self.pairs.locate(left, right)).astype(np.int64)
        return known + count_common_hashes(self.sketches, left, right)


def _keep_hashes(sketches: Sequence[bytes], kept: UInt64[np.ndarray, " value"]) -> list[bytes]:
    """Reduce each sketch to its hashes among those in `kept`."""
    hashes, bounds = concatenate_sketches(sketches)
    positions = np.flatnonzero(np.isin(hashes, kept))
    held, ends = hashes[positions], np.searchsorted(positions, bounds).tolist()
    return [held[start:stop].tobytes() for start, stop in pairwise(ends)]
