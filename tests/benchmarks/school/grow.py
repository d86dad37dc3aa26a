"""Add rows to small databases, so that their keys have more than a dozen values."""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from benchmarks.school.database import Database, Random, domains
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

_LIST = 8
"""Minimum number of rows of a table that may grow. Smaller tables are fixed lists."""

_SKEW = (0.0, 0.0, 0.7, 1.5)
"""Exponents s, one drawn per domain: rows refer to the k-th key with a weight of 1 / k ** s."""


@dataclass(frozen=True)
class _Keys:
    """The new values of a key column, and how unevenly other columns refer to them."""

    root: ColumnName
    values: tuple[str, ...]
    skew: float


def grow(database: Database, rows: int, random: Random) -> Database:
    """Repeat random rows, then fill key columns and the columns that refer to them with new keys.

    Args:
        database: A database whose keys are numbers.
        rows: About the most rows of a table.
        random: Source of all draws.
    """
    sizes = {
        name: _size(len(frame), rows, random) for name, frame in sorted(database.tables.items())
    }
    tables = {
        name: frame.iloc[_places(len(frame), sizes[name], random)].reset_index(drop=True)
        for name, frame in sorted(database.tables.items())
    }
    for group in domains(database.references):
        columns = [column for column in group if database.has(column)]
        if columns:
            keys = _new_keys(database, columns, sizes, random)
            for column in columns:
                tables[column.table][column.column] = _cells(database, column, tables, keys, random)
    return replace(database, tables=tables)


def _size(before: int, rows: int, random: Random) -> int:
    if before < _LIST or before >= rows:
        return before
    return int(before * np.exp(random.uniform(0, np.log(rows / before))))


def _places(before: int, after: int, random: Random) -> "np.ndarray[tuple[int], np.dtype[np.intp]]":
    """Return `after` ascending positions: each of `before` positions once, plus random repeats."""
    return np.sort(np.concatenate([np.arange(before), random.integers(0, before, after - before)]))


def _new_keys(
    database: Database, columns: list[ColumnName], sizes: dict[str, int], random: Random
) -> _Keys:
    referred = Counter(one.target for one in database.references)
    unique = [one for one in columns if _is_unique(database.tables[one.table][one.column])]
    root = max(unique or columns, key=lambda one: (referred[one], one))
    old = sorted(database.values(root), key=lambda value: (len(value), value))
    count = sizes[root.table] if unique else len(old)
    step = _step(old)
    more = [str(int(old[-1]) + step * at) for at in range(1, count - len(old) + 1)] if step else []
    return _Keys(root, (*old, *more)[: max(count, len(old))], float(random.choice(_SKEW)))


def _step(old: list[str]) -> int:
    """Return the typical difference between consecutive keys, or 0 if some key is not a number."""
    if len(old) < 2 or not all(value.isdecimal() for value in old):
        return 0
    return max(1, int(np.median(np.diff([int(value) for value in old]))))


def _cells(
    database: Database,
    column: ColumnName,
    tables: dict[str, pd.DataFrame],
    keys: _Keys,
    random: Random,
) -> "pd.Series[str]":
    """Return new cells for a column, taken from the new keys.

    In a unique column, each key occurs once; otherwise some keys are more frequent.
    """
    cells = tables[column.table][column.column]
    before = database.tables[column.table][column.column]
    values = np.array(keys.values)
    if column == keys.root and len(values) >= len(cells):
        return pd.Series(values[: len(cells)], dtype=str)
    if _is_unique(before) and len(values) >= len(cells):
        return pd.Series(random.permutation(values)[: len(cells)], dtype=str)
    weights = 1 / (1 + random.permutation(len(values))) ** keys.skew
    drawn = pd.Series(random.choice(values, len(cells), p=weights / weights.sum()), dtype=str)
    return drawn.where(cells != "", "")


def _is_unique(cells: "pd.Series[str]") -> bool:
    return bool((cells != "").all() and cells.is_unique)
