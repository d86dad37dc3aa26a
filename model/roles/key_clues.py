"""Collect clues as to whether a column is the key of its table."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.name_clues import spell, table_prefixes
from datahub_hyperjoin.model.signals.stems import Words, meaningful_words, stems

_UNIQUE = 0.999
"""Minimum uniqueness and completeness of a table's own key. It is below 1 because uniqueness may be
an estimate."""


@dataclass(frozen=True)
class KeyClues:
    """Clues as to whether each column is the key of its table."""

    leads: Bool[np.ndarray, " column"]
    """Columns that are unique and look most like the key of their table."""

    own_name: Bool[np.ndarray, " column"]
    """Columns that are called `id` or named after their own table."""

    has_rival: Bool[np.ndarray, " column"]
    """Columns that look less like a key than a unique and complete column of their table."""

    names_other: Bool[np.ndarray, " column"]
    """Columns that are named after another table, and not after their own."""


def _is_own(table: Words, name: Words) -> bool:
    return bool(name) and {*meaningful_words(name)} <= {*table}


def _name_others(
    lake: Lake, tables: Sequence[Words], columns: Sequence[Words]
) -> Bool[np.ndarray, " column"]:
    """Mark the columns that have the name of another table.

    `tables` and `columns` are the stems of their names.
    """
    prefixes = table_prefixes(tables)
    titles = spell(tables, prefixes)
    known = frozenset().union(*titles)
    names = spell(map(meaningful_words, columns), prefixes)
    named = (
        not name.isdisjoint(known) and name.isdisjoint(titles[table])
        for name, table in zip(names, lake.table_of.tolist(), strict=True)
    )
    return np.fromiter(named, dtype=bool, count=len(lake))


def find_key_clues(
    lake: Lake,
    columns: Sequence[Words],
    uniqueness: Float[np.ndarray, " column"],
    is_key: Bool[np.ndarray, " column"],
) -> KeyClues:
    """For each column, collect clues as to whether it is the key of its table.

    Args:
        columns: The names of the columns, as `column_stems` splits them.
        uniqueness: Uniqueness of each column in the whole table.
    """
    complete = np.array([profile.completeness >= _UNIQUE for profile in lake.profiles], dtype=bool)
    unique = uniqueness >= _UNIQUE
    first: Int[np.ndarray, " table"] = np.full(len(lake.titles), np.iinfo(np.int64).max)
    own_key = unique & complete & is_key
    np.minimum.at(first, lake.table_of[own_key], lake.standing[own_key])
    tables = [stems(title) for title in lake.titles]
    names_other = _name_others(lake, tables, columns)
    names = zip((tables[table] for table in lake.table_of), columns, strict=True)
    own_name = np.array([_is_own(table, name) for table, name in names], dtype=bool)
    return KeyClues(
        leads=unique & (lake.standing == 0),
        own_name=own_name & ~names_other,
        has_rival=first[lake.table_of] < lake.standing,
        names_other=names_other,
    )
