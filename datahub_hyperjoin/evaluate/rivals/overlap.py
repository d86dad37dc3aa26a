r"""How many distinct values columns share, exactly: the answers of JOSIE.

JOSIE (Zhu, Deng, Nargesian, Miller: JOSIE: Overlap Set Similarity Search for Finding Joinable
Tables in Data Lakes, SIGMOD 2019) finds the k sets C with the greatest $|Q \cap C|$. Its inverted
index and its cost model decide how fast that goes, not what is found. Lakes of this size need
neither: with X the incidence of columns and values, $X_Q X^T$ holds all overlaps.
"""

import re
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from scipy import sparse

from datahub_hyperjoin.evaluate.rivals.cells import Cells
from datahub_hyperjoin.evaluate.rivals.rival import Queries, Scores

_NEITHER_LETTER_NOR_DIGIT = re.compile(r"[\W_]+")


def overlap(lake: Sequence[Cells], queries: Queries) -> Scores:
    """Counts the values that columns share as they are written.

    Args:
        lake: All columns.
        queries: Which of them are asked about.

    Returns:
        How many, of every query and column.
    """
    return _shared([cells.counts.keys() for cells in lake], queries)


def normalised_overlap(lake: Sequence[Cells], queries: Queries) -> Scores:
    """Counts the values that columns share once they are normalised.

    Args:
        lake: All columns.
        queries: Which of them are asked about.

    Returns:
        How many, of every query and column, of normalised values.
    """
    return _shared([{*map(normalise, cells.counts)} - {""} for cells in lake], queries)


def normalise(value: str) -> str:
    """A value in lower case, without anything but letters and digits of any script.

    >>> normalise("São Tomé & Príncipe"), normalise("1-23_a"), normalise("--")
    ('sãotomépríncipe', '123a', '')
    """
    return _NEITHER_LETTER_NOR_DIGIT.sub("", value.lower())


def incidence(sets: Sequence[Collection[str]]) -> tuple[list[str], sparse.csr_array]:
    """Which set holds which value.

    Args:
        sets: Values without repetition.

    Returns:
        All values, and a matrix of one row a set and one column a value: 1 where the set holds it.

    >>> values, holds = incidence([["a"], ["b", "a"]])
    >>> values, holds.toarray().tolist()
    (['a', 'b'], [[1.0, 0.0], [1.0, 1.0]])
    """
    places: dict[str, int] = {}
    columns = [places.setdefault(value, len(places)) for held in sets for value in held]
    rows = np.repeat(np.arange(len(sets)), [len(held) for held in sets])
    ones = np.ones(len(columns))
    return [*places], sparse.csr_array((ones, (rows, columns)), (len(sets), max(len(places), 1)))


def occurrences(columns: Sequence[Mapping[str, int]]) -> tuple[list[str], sparse.csr_array]:
    """How often which column has which value.

    Args:
        columns: How often each value occurs.

    Returns:
        All values, and a matrix of one row a column and one column a value.

    >>> values, has = occurrences([{"a": 1, "b": 2}, {"b": 3, "a": 4}])
    >>> values, has.toarray().tolist()
    (['a', 'b'], [[1.0, 2.0], [4.0, 3.0]])
    """
    values, holds = incidence([column.keys() for column in columns])
    rows = np.split(holds.indices, holds.indptr[1:-1])
    holds.data[:] = [
        column[values[place]] for column, row in zip(columns, rows, strict=True) for place in row
    ]
    return values, holds


def _shared(sets: Sequence[Collection[str]], queries: Queries) -> Scores:
    _, holds = incidence(sets)
    return (holds[queries] @ holds.T).toarray()
