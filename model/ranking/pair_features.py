"""Describe columns and pairs of columns by numbers that are comparable between lakes.

No feature names a table, a column or a value, so trees that were trained on other lakes can read
them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32
from scipy import sparse

from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking.pair_scoring import PairSignals
from datahub_hyperjoin.model.roles.name_clues import NameComparison
from datahub_hyperjoin.model.signals.names import NameSimilarity, Words, meaningful_words, stems
from datahub_hyperjoin.model.signals.pairs import (
    ColumnFloats,
    ColumnInts,
    Floats,
    PairFloats,
    PairInts,
    SparsePairs,
    Vectors,
    values_at,
)
from datahub_hyperjoin.model.signals.sketches import row_products
from datahub_hyperjoin.tables import ColumnProfile, DataType

_TYPES = (DataType.TEXT, DataType.INTEGER, DataType.DECIMAL, DataType.DATE)

COLUMN_FEATURES = (
    "uniqueness",
    "completeness",
    "density",
    "position",  # of the likeliest key first; the trees were trained with that in the table
    "columns of its table",
    "rows",
    "distinct values",
    "mean length",
    "range of lengths",
    "share of the most frequent value",
    *(f"is {kind.value}" for kind in _TYPES),
    "probability that it refers to some key",
    "references to it",
)
"""Names of the measures of a column, in the order in which the trees read them."""

STATISTICS = COLUMN_FEATURES[:-2]
"""The measures of a column alone, without its references."""


def _describe(profile: ColumnProfile) -> tuple[float, ...]:
    # Logarithms, so that the counts and lengths of small and large tables compare.
    lengths, most_frequent = profile.lengths, max(profile.counts, default=0) / max(profile.rows, 1)
    counts = profile.rows, profile.distinct, lengths.mean, lengths.longest - lengths.shortest
    is_type = (float(profile.type is kind) for kind in _TYPES)
    return (*np.log1p(counts), most_frequent, *is_type)


def _measure_columns(index: LakeIndex) -> Float32[np.ndarray, "column feature"]:
    """Compute the measures in `COLUMN_FEATURES` for each column."""
    lake, references, count = index.lake, index.references, len(index.lake)
    widths = np.bincount(lake.table_of, minlength=len(lake.titles))
    refers = np.zeros(count)
    np.maximum.at(refers, references.referring, references.probability)
    referred = np.bincount(references.referenced, references.probability, minlength=count)
    described = np.array([_describe(profile) for profile in lake.profiles])
    return np.column_stack(
        [
            index.priors.uniqueness,
            index.priors.completeness,
            lake.density,
            lake.standing,
            np.log1p(widths)[lake.table_of],
            described.reshape(count, -1),
            refers,
            np.log1p(referred),
        ]
    ).astype(np.float32)


def statistics_vectors(index: LakeIndex) -> Float32[np.ndarray, "column statistic"]:
    """For each column, compute a unit vector of its standardised statistics."""
    measured = _measure_columns(index)[:, : len(STATISTICS)]
    spread = measured.std(axis=0)
    return unit_rows((measured - measured.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def unit_rows(rows: Vectors) -> Vectors:
    """Scale each row to length 1; rows of zeros stay as they are."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.maximum(lengths, 1e-9)).astype(np.float32)


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


_LIMIT = 1e-4
"""Smallest distance of a probability from 0 and 1, which keeps log-odds finite."""


def log_odds(probability: Floats) -> Floats:
    """Return the log-odds of probabilities, limited to the range from -9.2 to 9.2."""
    bounded = np.clip(probability, _LIMIT, 1 - _LIMIT)
    return np.log(bounded / (1 - bounded))


@dataclass(frozen=True)
class ReferenceLookup:
    """The references of a lake, stored so that pairs of columns can be looked up fast."""

    pairs: SparsePairs  # the pairs of a column and a key to which the column may refer
    probability: PairFloats  # the probability that the column of each pair refers to the key
    # The most probable key of each column; the column itself if it refers to none.
    key: ColumnInts
    refers: ColumnFloats  # the probability of each column's most probable reference

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

    def between(self, left: PairInts, right: PairInts) -> PairFloats:
        """Return the probability that the left column of each pair refers to the right column."""
        return self.pairs.look_up(self.probability, left, right)

    def to_one_key(self, left: PairInts, right: PairInts) -> PairFloats:
        """Return the probability that both columns of each pair refer to the same key."""
        key = self.key
        is_same = (key[left] == key[right]) & (key[left] != left) & (key[right] != right)
        return np.where(is_same, np.minimum(self.refers[left], self.refers[right]), 0.0)


def _compare_sizes(
    first: Float32[np.ndarray, "pair column"], second: Float32[np.ndarray, "pair column"]
) -> tuple[PairFloats, PairFloats, PairFloats]:
    """Return the differences of mean lengths, of distinct values and of rows."""
    sizes = [COLUMN_FEATURES.index(n) for n in ("mean length", "distinct values", "rows")]
    length, distinct, rows = (first[:, size] - second[:, size] for size in sizes)
    return np.abs(length), distinct, rows


class PairFeatures:
    """An object that computes the measures in `PAIR_FEATURES` for pairs of columns."""

    def __init__(self, index: LakeIndex) -> None:
        self._overlap = index.overlap
        self._columns = _measure_columns(index)
        self._references = ReferenceLookup.of(index)
        self._patterns = _pattern_weights(index)

    def of(
        self, left: PairInts, right: PairInts, signals: PairSignals, noisy_or: PairFloats
    ) -> Float32[np.ndarray, "pair feature"]:
        """Compute the measures in `PAIR_FEATURES` for each pair."""
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
        others = [
            signals.text,
            signals.density,
            self._references.to_one_key(left, right),
            *_compare_sizes(first, second),
        ]
        return np.column_stack([*rising, *others, first, second]).astype(np.float32)


def _pattern_weights(index: LakeIndex) -> sparse.csr_array:
    """Return a column × pattern matrix: the square root of the pattern's share in the column."""
    # The product of two rows is the Bhattacharyya coefficient of two columns' patterns.
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


_PLACES = ("position", "columns of its table")
"""Measures of a column that depend on the layout of its table, and are left out."""
_COLUMN = [at for at, name in enumerate(COLUMN_FEATURES) if name not in _PLACES]
_CLUES = (
    "column_in_key",
    "key_in_column",
    "table_in_column",
    "names_table",
    "continues_table",
    "names_parent",
    "same_name",
    "other_word",
)
"""The clues that the shipped trees were trained with. The list is fixed, because the trees know a
feature by its position."""

RISING_NAME_FEATURES = (
    "log-odds by names",
    "names",
    "names without titles",
    "same name",
    "relation through references",
    "probability that left refers to right",
    "probability that right refers to left",
)
"""Features that support a join: a greater value never lowers the score of a pair."""

NAME_FEATURES = (
    *RISING_NAME_FEATURES,
    "same type",
    "both are text",
    "probability that both refer to one key",
    "left: columns of its name",
    "right: columns of its name",
    "columns of the same name",
    "titles",
    "other names in common",
    "share of other names in common",
    "difference of mean lengths",
    "difference of distinct values",
    "difference of rows",
    "left: marked as an identifier",
    "right: marked as an identifier",
    "left: words",
    "right: words",
    *(f"left to right: {clue}" for clue in _CLUES),
    *(f"right to left: {clue}" for clue in _CLUES),
    *(f"left: {COLUMN_FEATURES[at]}" for at in _COLUMN),
    *(f"right: {COLUMN_FEATURES[at]}" for at in _COLUMN),
)
"""All measures of a pair whose values are not compared; the trees know a feature by its position.
"""


class NameFeatures:
    """An object that computes the measures in `NAME_FEATURES` for pairs of columns."""

    def __init__(self, index: LakeIndex) -> None:
        lake = index.lake
        self._index = index
        self._columns = _measure_columns(index)
        self._references = ReferenceLookup.of(index)
        self._names = NameSimilarity(lake.paths)
        self._titles = NameSimilarity(lake.titles)
        self._types = np.array([profile.type.value for profile in lake.profiles], dtype=object)
        words = [stems(path) for path in lake.paths]
        self._words = np.array([len(name) for name in words], dtype=np.float64)
        self._marked = self._words > [len(meaningful_words(name)) for name in words]
        self._schemas = _Schemas(lake, words)
        self._compared = NameComparison(lake)

    def of(
        self, left: PairInts, right: PairInts, score: PairFloats
    ) -> Float32[np.ndarray, "pair feature"]:
        """Compute the measures in `NAME_FEATURES` for each pair."""
        index, lake, references = self._index, self._index.lake, self._references
        first, second = self._columns[left], self._columns[right]
        ways = (self._compared.of(left, right), self._compared.of(right, left))
        same = self._schemas.same_name(left, right)
        measured = [
            log_odds(score),
            index.names.of(left, right),
            self._names.of(left, right),
            same,
            index.relations.between(left, right),
            references.between(left, right),
            references.between(right, left),
            self._types[left] == self._types[right],
            lake.is_text[left] & lake.is_text[right],
            references.to_one_key(left, right),
            self._schemas.frequency[left],
            self._schemas.frequency[right],
            same * self._schemas.frequency[left],
            self._titles.of(lake.table_of[left], lake.table_of[right]),
            *self._schemas.others_in_common(left, right),
            *_compare_sizes(first, second),
            self._marked[left],
            self._marked[right],
            self._words[left],
            self._words[right],
            *(getattr(way, clue) for way in ways for clue in _CLUES),
        ]
        ends = [first[:, _COLUMN], second[:, _COLUMN]]
        return np.column_stack([*measured, *ends]).astype(np.float32)


class _Schemas:
    """The column names of each table."""

    def __init__(self, lake: Lake, words: Sequence[Words]) -> None:
        names, number = np.unique(["".join(name) for name in words], return_inverse=True)
        tables, columns = len(lake.titles), np.bincount(number, minlength=len(names))
        self._table_of, self._number = lake.table_of, number
        self.frequency = np.log1p(columns.astype(np.float64))[number]
        """For each column, the logarithm of 1 plus the number of columns with its name."""
        self._rarity = np.maximum(np.log((tables + 1) / (columns + 1)), 0.05)
        held = sparse.csr_array(
            (np.ones(len(number)), (lake.table_of, number)), (tables, len(names))
        ).sign()
        self._weighted = sparse.csr_array(held.multiply(np.sqrt(self._rarity)[None, :]))
        totals: PairFloats = self._weighted.multiply(self._weighted).sum(axis=1)
        self._total = np.asarray(totals).ravel()

    def same_name(self, left: PairInts, right: PairInts) -> PairFloats:
        return (self._number[left] == self._number[right]).astype(np.float64)

    def others_in_common(self, left: PairInts, right: PairInts) -> tuple[PairFloats, PairFloats]:
        """For each pair, weigh the column names that the two tables have in common."""
        # That is their total weight, and its share in the table whose names weigh less. The name
        # that the pair's own columns have in common does not count.
        first, second = self._table_of[left], self._table_of[right]
        common = row_products(self._weighted, self._weighted, first, second)
        common -= self.same_name(left, right) * self._rarity[self._number[left]]
        smaller = np.minimum(self._total[first], self._total[second])
        return common, common / np.maximum(smaller, 1e-6)
