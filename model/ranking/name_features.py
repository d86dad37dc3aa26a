"""Describe pairs of columns by numbers, without comparing values.

Names, titles of tables, types, references and, where rows were counted, statistics describe a pair.
No feature holds a name itself, so trees that were trained on other lakes can read them.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Float32, Int
from scipy import sparse

from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking.column_features import COLUMN_FEATURES, measure_columns
from datahub_hyperjoin.model.ranking.pair_features import ReferenceLookup, log_odds
from datahub_hyperjoin.model.roles.name_clues import NameComparison, column_stems
from datahub_hyperjoin.model.signals.names import NameSimilarity
from datahub_hyperjoin.model.signals.row_products import row_products
from datahub_hyperjoin.model.signals.stems import Words, meaningful_words, stems

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

_Columns = Int[np.ndarray, " pair"]
_Measured = Float[np.ndarray, " pair"]


class NameFeatures:
    """An object that computes the measures in `NAME_FEATURES` for pairs of columns."""

    def __init__(self, index: LakeIndex) -> None:
        lake = index.lake
        self._index = index
        self._columns = measure_columns(index)
        self._references = ReferenceLookup.of(index)
        self._names = NameSimilarity([profile.id.path for profile in lake.profiles])
        self._titles = NameSimilarity(lake.titles)
        self._types = np.array([profile.type.value for profile in lake.profiles], dtype=object)
        words = [stems(profile.id.path) for profile in lake.profiles]
        self._words = np.array([len(name) for name in words], dtype=np.float64)
        self._marked = self._words > [len(meaningful_words(name)) for name in words]
        self._schemas = _Schemas(lake, words)

    def of(
        self, left: _Columns, right: _Columns, score: _Measured
    ) -> Float32[np.ndarray, "pair feature"]:
        """Compute the measures in `NAME_FEATURES` for each pair.

        Args:
            score: The score of each pair by names and references, in [0, 1].
        """
        index, lake, references = self._index, self._index.lake, self._references
        first, second = self._columns[left], self._columns[right]
        sizes = [COLUMN_FEATURES.index(n) for n in ("mean length", "distinct values", "rows")]
        length, distinct, rows = (first[:, size] - second[:, size] for size in sizes)
        compared = NameComparison(lake, column_stems(lake))
        ways = (compared.of(left, right), compared.of(right, left))
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
            np.abs(length),
            distinct,
            rows,
            self._marked[left],
            self._marked[right],
            self._words[left],
            self._words[right],
            *(getattr(way, clue) for way in ways for clue in _CLUES),
        ]
        ends = [first[:, _COLUMN], second[:, _COLUMN]]
        return np.column_stack([*measured, *ends]).astype(np.float32)


class _Schemas:
    """The column names of each table.

    Rare names have greater weights than frequent ones.
    """

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
        totals: _Measured = self._weighted.multiply(self._weighted).sum(axis=1)
        self._total = np.asarray(totals).ravel()

    def same_name(self, left: _Columns, right: _Columns) -> _Measured:
        return (self._number[left] == self._number[right]).astype(np.float64)

    def others_in_common(self, left: _Columns, right: _Columns) -> tuple[_Measured, _Measured]:
        """For each pair, weigh the column names that the two tables have in common.

        Return the total weight of these names, and its share of the weight of all names in one
        table: the table whose names weigh less. A name that the pair's own columns have in common
        does not count.
        """
        first, second = self._table_of[left], self._table_of[right]
        common = row_products(self._weighted, self._weighted, first, second)
        common -= self.same_name(left, right) * self._rarity[self._number[left]]
        smaller = np.minimum(self._total[first], self._total[second])
        return common, common / np.maximum(smaller, 1e-6)
