"""Describe pairs of columns by numbers that are comparable between lakes.

No feature names a table, a column or a value, so trees that were trained on other lakes can read
them.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Int
from scipy import sparse

from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.ranking.column_features import COLUMN_FEATURES, measure_columns
from datahub_hyperjoin.model.ranking.noisy_or import PairSignals
from datahub_hyperjoin.model.signals.pairs import SparsePairs, values_at
from datahub_hyperjoin.model.signals.row_products import row_products

RISING_FEATURES = (
    "log-odds of the noisy-or",
    "containment beyond chance",
    "containment beyond chance in the right column",
    "containment beyond chance in the left column",
    "containment in the right column",
    "containment in the left column",
    "shared values",
    "weight of shared values",
    "cosine of the sets of values",
    "cells",
    "names",
    "relation through references",
    "probability that left refers to right",
    "probability that right refers to left",
    "patterns",
)
"""Names of the features that are evidence: a greater value never lowers a score."""

PAIR_FEATURES = (
    *RISING_FEATURES,
    "both are text",
    "greater density",
    "probability that both refer to one key",
    "difference of mean lengths",
    "difference of distinct values",
    "difference of rows",
    *(f"left: {name}" for name in COLUMN_FEATURES),
    *(f"right: {name}" for name in COLUMN_FEATURES),
)
"""All measures of a pair; the trees know a feature by its position."""

_Columns = Int[np.ndarray, " pair"]
_Measured = Float[np.ndarray, " pair"]

_LIMIT = 1e-4
"""Smallest distance of a probability from 0 and 1, which keeps log-odds finite."""


def log_odds(probability: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Return the log-odds of probabilities, limited to the range from -9.2 to 9.2."""
    bounded = np.clip(probability, _LIMIT, 1 - _LIMIT)
    return np.log(bounded / (1 - bounded))


@dataclass(frozen=True)
class ReferenceLookup:
    """The references of a lake, stored so that pairs of columns can be looked up fast."""

    pairs: SparsePairs
    """The pairs of a column and a key to which the column may refer."""

    probability: _Measured
    """The probability that the column of each pair refers to the key."""

    key: Int[np.ndarray, " column"]
    """The most probable key of each column; the column itself if it refers to none."""

    refers: Float[np.ndarray, " column"]
    """The probability of each column's most probable reference."""

    @classmethod
    def of(cls, index: LakeIndex) -> "ReferenceLookup":
        """Build the look-up from the references of a lake."""
        found, count = index.references, len(index.lake)
        by_probability = np.argsort(found.probability, kind="stable")
        key = np.arange(count)
        # The last assignment of a repeated index is kept, so the most probable key wins.
        key[found.referring[by_probability]] = found.referenced[by_probability]
        pairs = SparsePairs(count, found.referring, found.referenced)
        refers = np.zeros(count)
        np.maximum.at(refers, found.referring, found.probability)
        return cls(pairs, found.probability, key, refers)

    def between(self, left: _Columns, right: _Columns) -> _Measured:
        """Return the probability that the left column of each pair refers to the right column."""
        return self.pairs.look_up(self.probability, left, right)

    def to_one_key(self, left: _Columns, right: _Columns) -> _Measured:
        """Return the probability that both columns of each pair refer to the same key."""
        key = self.key
        is_same = (key[left] == key[right]) & (key[left] != left) & (key[right] != right)
        return np.where(is_same, np.minimum(self.refers[left], self.refers[right]), 0.0)


class PairFeatures:
    """An object that computes the measures in `PAIR_FEATURES` for pairs of columns."""

    def __init__(self, index: LakeIndex) -> None:
        self._overlap = index.overlap
        self._columns = measure_columns(index)
        self._references = ReferenceLookup.of(index)
        self._patterns = _pattern_weights(index)

    def of(
        self, left: _Columns, right: _Columns, signals: PairSignals, noisy_or: _Measured
    ) -> Float32[np.ndarray, "pair feature"]:
        """Compute the measures in `PAIR_FEATURES` for each pair.

        Args:
            noisy_or: The score of each pair by these signals, in [0, 1].
        """
        overlap, first, second = self._overlap, self._columns[left], self._columns[right]
        there = overlap.locate(left, right)
        back = overlap.reverse_at(there)
        rising = [
            log_odds(noisy_or),
            signals.containment,
            signals.containment_in_right,
            values_at(overlap.beyond_chance, back),
            values_at(overlap.containment, there),
            values_at(overlap.containment, back),
            np.log1p(values_at(overlap.shared, there)),
            signals.shared_weight,
            signals.ochiai,
            signals.cells,
            signals.names,
            signals.related,
            self._references.between(left, right),
            self._references.between(right, left),
            row_products(self._patterns, self._patterns, left, right),
        ]
        sizes = [COLUMN_FEATURES.index(n) for n in ("mean length", "distinct values", "rows")]
        length, distinct, rows = (first[:, size] - second[:, size] for size in sizes)
        others = [
            signals.text,
            signals.density,
            self._references.to_one_key(left, right),
            np.abs(length),
            distinct,
            rows,
        ]
        return np.column_stack([*rising, *others, first, second]).astype(np.float32)


def _pattern_weights(index: LakeIndex) -> sparse.csr_array:
    """Return a column × pattern matrix: the square root of the pattern's share in the column.

    The product of two rows is the Bhattacharyya coefficient of two columns' patterns.
    """
    listed = [
        (column, pattern)
        for column, profile in enumerate(index.lake.profiles)
        for pattern in profile.patterns
    ]
    shapes = np.array([pattern.shape for _, pattern in listed], dtype=object).astype(str)
    distinct, number = np.unique(shapes, return_inverse=True)
    roots = np.sqrt([pattern.share for _, pattern in listed])
    columns = np.array([column for column, _ in listed], dtype=np.int64)
    return sparse.csr_array((roots, (columns, number)), (len(index.lake), max(len(distinct), 1)))
