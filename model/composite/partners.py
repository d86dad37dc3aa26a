"""Find column pairs that may belong to composite references.

Every part of such a reference is contained in the column that it refers to, and neither column
identifies a row by itself. Pairs are kept where two tables have at least two of them.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from datahub_hyperjoin.joins import KeySearch
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.pairs import number_pairs
from datahub_hyperjoin.tables import ColumnProfile, DataType, TableId

_MAX_MISSING = 0.1
"""Maximum share of a referring column's values that the referenced column may lack; one missing
value is always allowed. In a composite reference, each column of the key contains the values of its
counterpart, except for errors in the data and the estimate."""
_SPECIFIC, _SPECIFICITY = 20, 0.9
"""Shared values suggest that two columns correspond, if the referring column has at least
`_SPECIFIC` distinct values. The maximum similarity by values is `_SPECIFICITY`; equal names give 1.
"""
_MIN_COMPLETENESS = 0.99
"""Minimum share of rows with a value in each column of a key: a primary key has no nulls."""
_MAX_UNIQUENESS = 0.98
"""A column with a greater share of distinct values is taken to identify a row by itself. The share
is an estimate for columns with more distinct values than a sketch holds."""
_MAX_LENGTH = 64.0
"""Maximum mean length of a key column's values, in characters; longer text is prose."""
_SEARCHED = 8
"""Maximum number of columns per table in the search for composite keys. Eight columns have 154
subsets of two to four columns."""
_TYPES = frozenset({DataType.INTEGER, DataType.TEXT, DataType.DATE, DataType.TIMESTAMP})
"""Data types that columns of a composite key may have; decimals and booleans are excluded."""


@dataclass(frozen=True)
class ColumnPartners:
    """Column pairs in which one column contains nearly all values of the other.

    The two columns are in different tables.

    Columns are indices in the lake.
    """

    lake: Lake

    referring: Int[np.ndarray, " pair"]
    """For each pair, the column whose values are contained in the other column."""

    referenced: Int[np.ndarray, " pair"]
    """The column of each pair that contains the values of the other column."""

    similarity: Float[np.ndarray, " pair"]
    """The greater of two measures in [0, 1]: the similarity of the names, and the share of values
    that only columns of this domain contain."""

    def by_tables(self, referenced: Collection[int]) -> list[tuple[int, tuple[int, ...]]]:
        """Return the column pairs that refer to given tables, grouped by their two tables.

        Returns:
            For each group, the referenced table and the positions of the pairs.
        """
        table_of = self.lake.table_of
        wanted = np.flatnonzero(np.isin(table_of[self.referenced], [*referenced]))
        ends = zip(
            table_of[self.referring[wanted]].tolist(),
            table_of[self.referenced[wanted]].tolist(),
            strict=True,
        )
        grouped: dict[tuple[int, int], list[int]] = defaultdict(list)
        for pair, key in zip(wanted.tolist(), ends, strict=True):
            grouped[key].append(pair)
        return [(key, tuple(pairs)) for (_, key), pairs in grouped.items()]

    def searches(self, max_columns: int = 4) -> list[KeySearch]:
        """For each referenced table, choose the columns to combine into possible composite keys.

        Returns:
            At most eight columns per table: those whose names are most similar to the names of
            columns that they contain and, of equally similar ones, those that look most like parts
            of a key.
        """
        best, standing = np.zeros(len(self.lake)), self.lake.standing
        np.maximum.at(best, self.referenced, self.similarity)
        members: dict[int, set[int]] = defaultdict(set)
        for column in np.unique(self.referenced).tolist():
            members[int(self.lake.table_of[column])].add(column)
        return [
            self._search(
                sorted(columns, key=lambda column: (-best[column], standing[column]))[:_SEARCHED],
                max_columns,
            )
            for columns in members.values()
        ]

    def _search(self, columns: Iterable[int], max_columns: int) -> KeySearch:
        chosen = sorted(columns)
        ids = [self.lake.ids[column] for column in chosen]
        return KeySearch(
            table=ids[0].table,
            columns=tuple(column.path for column in ids),
            texts=tuple(
                self.lake.ids[column].path for column in chosen if self.lake.is_text[column]
            ),
            max_columns=max_columns,
        )


def find_partners(index: LakeIndex) -> ColumnPartners:
    """Find column pairs that may belong to composite references.

    Returns:
        Pairs whose two tables have several of them, with different columns on both sides.
    """
    lake, overlap = index.lake, index.overlap
    refers, is_referenced = _masks(lake)
    left, right = overlap.left, overlap.right
    distinct = np.array([profile.distinct for profile in lake.profiles])
    # Rounded, because a share of 4/5 of 5 values lacks a little more than one.
    missing = np.round((1 - overlap.containment) * distinct[left], 4)
    fits: Bool[np.ndarray, " pair"] = (
        (missing <= np.maximum(_MAX_MISSING * distinct[left], 1.0))
        & (overlap.shared > 1)
        & refers[left]
        & is_referenced[right]
        & (lake.is_text[left] == lake.is_text[right])
    )
    chosen = np.flatnonzero(fits)
    # A column that identifies rows and holds all values of the other is a key of its own.
    is_key = np.array([profile.uniqueness > _MAX_UNIQUENESS for profile in lake.profiles])
    back = overlap.look_up(overlap.containment, right[chosen], left[chosen])
    chosen = chosen[~(is_key[left[chosen]] & (back >= 1 - _MAX_MISSING))]
    several = _have_several(lake, left[chosen], right[chosen])
    several &= _have_several(lake, right[chosen], left[chosen])
    chosen = chosen[several]
    left, right = left[chosen], right[chosen]
    # Few values are soon held by any column, so that only many of them mark a domain.
    is_specific = distinct[left] >= _SPECIFIC
    specific = np.where(is_specific, _SPECIFICITY * overlap.beyond_chance[chosen], 0.0)
    return ColumnPartners(
        lake=lake,
        referring=left,
        referenced=right,
        similarity=np.maximum(index.names.of(left, right), specific),
    )


def _have_several(
    lake: Lake, left: Int[np.ndarray, " pair"], right: Int[np.ndarray, " pair"]
) -> Bool[np.ndarray, " pair"]:
    """Mark each pair if several columns of the left table have partners in the right table."""
    count = len(lake.titles)
    # The left column determines the left table.
    ends = np.unique(number_pairs(left, lake.table_of[right], count))
    tables = number_pairs(lake.table_of[left], lake.table_of[right], count)
    seen, times = np.unique(lake.table_of[ends // count] * count + ends % count, return_counts=True)
    return np.isin(tables, seen[times > 1])


def _masks(lake: Lake) -> tuple[Bool[np.ndarray, " column"], Bool[np.ndarray, " column"]]:
    """Mark the columns that may refer to composite keys; also mark possible parts of such keys."""
    refers = np.array([_may_refer(profile) for profile in lake.profiles], dtype=bool)
    is_part = np.array([_may_be_part(profile) for profile in lake.profiles], dtype=bool)
    return refers, refers & is_part


def _may_refer(profile: ColumnProfile) -> bool:
    return profile.type in _TYPES and profile.distinct > 1 and profile.lengths.mean <= _MAX_LENGTH


def _may_be_part(profile: ColumnProfile) -> bool:
    is_complete = profile.completeness >= _MIN_COMPLETENESS
    return is_complete and profile.uniqueness <= _MAX_UNIQUENESS


def table_index(lake: Lake) -> dict[TableId, int]:
    """Map each table's identifier to the table's index in the lake.

    Tables without columns have no index.
    """
    return {table: index for index, table in enumerate(lake.tables) if table}
