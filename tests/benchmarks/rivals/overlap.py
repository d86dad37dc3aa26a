r"""Rank columns by the exact number of distinct values that they share, as JOSIE does.

JOSIE (Zhu, Deng, Nargesian, Miller: JOSIE: Overlap Set Similarity Search for Finding Joinable
Tables in Data Lakes, SIGMOD 2019) finds the k sets C with the greatest $|Q \cap C|$. Its inverted
index and its cost model decide the speed, not the result. Lakes of this size need neither: with X
the incidence matrix of columns and values, $X_Q X^T$ holds all overlaps.
"""

import re
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from scipy import sparse

from benchmarks.rivals.cells import Cells
from benchmarks.rivals.rival import ColumnScores, Queries

_NEITHER_LETTER_NOR_DIGIT = re.compile(r"[\W_]+")


def overlap(lake: Sequence[Cells], queries: Queries) -> ColumnScores:
    """Count the values that columns share exactly as written.

    Args:
        lake: All columns.
        queries: Positions of the query columns.

    Returns:
        The count for each query column and column.
    """
    return _shared([cells.counts.keys() for cells in lake], queries)


def normalised_overlap(lake: Sequence[Cells], queries: Queries) -> ColumnScores:
    """Count the values that columns share after normalisation.

    Args:
        lake: All columns.
        queries: Positions of the query columns.

    Returns:
        The count for each query column and column.
    """
    return _shared([{*map(normalise, cells.counts)} - {""} for cells in lake], queries)


def normalise(value: str) -> str:
    """Reduce a value to its letters and digits, in any script and in lower case.

    >>> normalise("São Tomé & Príncipe"), normalise("1-23_a"), normalise("--")
    ('sãotomépríncipe', '123a', '')
    """
    return _NEITHER_LETTER_NOR_DIGIT.sub("", value.lower())


def incidence(sets: Sequence[Collection[str]]) -> tuple[list[str], sparse.csr_array]:
    """Build the incidence matrix of sets and their values.

    Args:
        sets: Sets of values.

    Returns:
        All values, and a matrix with one row per set and one column per value: 1 for a member.

    >>> values, holds = incidence([["a"], ["b", "a"]])
    >>> values, holds.toarray().tolist()
    (['a', 'b'], [[1.0, 0.0], [1.0, 1.0]])
    """
    numbers: dict[str, int] = {}
    columns = [numbers.setdefault(value, len(numbers)) for members in sets for value in members]
    rows = np.repeat(np.arange(len(sets)), [len(members) for members in sets])
    ones = np.ones(len(columns))
    return [*numbers], sparse.csr_array((ones, (rows, columns)), (len(sets), max(len(numbers), 1)))


def occurrences(columns: Sequence[Mapping[str, int]]) -> tuple[list[str], sparse.csr_array]:
    """Build the matrix of value frequencies by column.

    Args:
        columns: The frequency of each value, for each column.

    Returns:
        All values, and a matrix with one row per column and one column per value.

    >>> values, has = occurrences([{"a": 1, "b": 2}, {"b": 3, "a": 4}])
    >>> values, has.toarray().tolist()
    (['a', 'b'], [[1.0, 2.0], [4.0, 3.0]])
    """
    values, holds = incidence([column.keys() for column in columns])
    rows = np.split(holds.indices, holds.indptr[1:-1])
    holds.data[:] = [
        column[values[number]] for column, row in zip(columns, rows, strict=True) for number in row
    ]
    return values, holds


def _shared(sets: Sequence[Collection[str]], queries: Queries) -> ColumnScores:
    _, holds = incidence(sets)
    return (holds[queries] @ holds.T).toarray()
