"""Collect clues as to whether a column is the key of its table."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.name_clues import Words, column_stems, meaningful_words, stems

_UNIQUE = 0.999
"""Minimum uniqueness of a table's own key, which tolerates the error of estimates."""


@dataclass(frozen=True)
class KeyClues:
    """Clues as to whether each column is the key of its table."""

    leads: Bool[np.ndarray, " column"]
    """Columns that are unique and the first of their table."""

    own_name: Bool[np.ndarray, " column"]
    """Columns that are called `id` or named after their own table."""

    has_rival: Bool[np.ndarray, " column"]
    """Columns of tables with another unique and complete column before them."""


def _is_own(table: Words, name: Words) -> bool:
    return bool(name) and {*meaningful_words(name)} <= {*table}


def find_key_clues(
    lake: Lake, uniqueness: Float[np.ndarray, " column"], is_key: Bool[np.ndarray, " column"]
) -> KeyClues:
    """For each column, collect clues as to whether it is the key of its table.

    Args:
        lake: The columns.
        uniqueness: Uniqueness of each column in the whole table.
        is_key: Mask of the columns that others can refer to.
    """
    position = np.array([profile.position for profile in lake.profiles], dtype=np.int64)
    complete = np.array([profile.completeness >= _UNIQUE for profile in lake.profiles], dtype=bool)
    unique = uniqueness >= _UNIQUE
    first: Int[np.ndarray, " table"] = np.full(len(lake.titles), np.iinfo(np.int64).max)
    own_key = unique & complete & is_key
    np.minimum.at(first, lake.table_of[own_key], position[own_key])
    tables, columns = [stems(title) for title in lake.titles], column_stems(lake)
    names = zip((tables[table] for table in lake.table_of), columns, strict=True)
    return KeyClues(
        leads=unique & (position == 0),
        own_name=np.array([_is_own(table, name) for table, name in names], dtype=bool),
        has_rival=first[lake.table_of] < position,
    )
