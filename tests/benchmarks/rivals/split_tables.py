"""Split tables into pairs that join, as OmniMatch does to make its training data.

OmniMatch (Koutras et al.: OmniMatch: Joinability Discovery in Data Products, VLDB 2025) splits a
table in two. Some columns go to both halves, either the most diverse or random ones; the others are
divided. Both halves get the first rows, and each gets the other rows on its side of a cut. With
probability 0.5, the shared columns of the second half get typos: in each text 10 % of the letters
and digits are replaced, at least one.

The authors' configuration decides how many columns and rows are shared; here it is one up to half
of the columns, and 10 to 90 % of the rows. A rival sees the distinct values in the order of rows
but no rows, so each column is cut by itself, at the same share. A typo is any letter, not a
neighbour on the keyboard, and affects all rows of the second half, while the authors sometimes
restrict it to the first rows. Numbers and dates are not changed.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from string import ascii_lowercase

import numpy as np
from jaxtyping import Int

from benchmarks.rivals.cells import Cells
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

_FEWEST_SHARED, _MOST_SHARED = 0.1, 0.9
_HALF = 0.5
_TYPOS = 0.1


@dataclass(frozen=True, slots=True)
class SplitLake:
    """The columns of split tables, and the triplets to train on."""

    lake: tuple[Cells, ...]
    """The columns, table by table."""

    triplets: Int[np.ndarray, "triplet 3"]
    """Positions of a column in one half, and of the same and another column in the other half."""


def split_tables(lake: Sequence[Cells], random: np.random.Generator) -> SplitLake:
    """Split each table that has at least two columns into two halves.

    Args:
        lake: Columns, table by table.
        random: The random generator of splits and typos.
    """
    halves: list[Cells] = []
    triplets = []
    for _, group in groupby(lake, key=lambda cells: cells.name.table):
        columns = list(group)
        if len(columns) > 1:
            first, second, shared = _split(columns, random)
            start, middle = len(halves), len(halves) + len(first)
            triplets += [
                (start + column, middle + column, middle + negative)
                for column in range(shared)
                for negative in range(len(second))
                if negative != column
            ]
            halves += [*first, *second]
    return SplitLake(tuple(halves), np.array(triplets, dtype=np.int64).reshape(-1, 3))


def _split(
    columns: Sequence[Cells], random: np.random.Generator
) -> tuple[list[Cells], list[Cells], int]:
    """Split a table, and return both halves and the number of columns that they share.

    Shared columns come first.
    """
    shared = int(random.integers(1, len(columns) // 2 + 1))
    order = random.permutation(len(columns))
    if random.random() < _HALF:
        order = np.argsort([-len(cells.counts) for cells in columns], kind="stable")
    both, rest = order[:shared], np.sort(order[shared:])
    start = random.uniform(_FEWEST_SHARED, _MOST_SHARED)
    cut = random.uniform(start, 1)
    middle = len(rest) // 2
    first = [_part(columns[index], 1, before=cut, after=1) for index in [*both, *rest[:middle]]]
    second = [
        _part(columns[index], 2, before=start, after=cut) for index in [*both, *rest[middle:]]
    ]
    if random.random() < _HALF:
        second[:shared] = [_misspell(part, random) for part in second[:shared]]
    return first, second, shared


def _part(cells: Cells, half: int, *, before: float, after: float) -> Cells:
    """Keep the values from the first and the last rows of a column.

    Both limits are shares of the rows.
    """
    size = len(cells.counts)
    counts = {
        value: count
        for row, (value, count) in enumerate(cells.counts.items())
        if row < before * size or row >= after * size
    }
    return Cells(ColumnName(f"{cells.name.table} {half}", cells.name.column), counts)


def _misspell(cells: Cells, random: np.random.Generator) -> Cells:
    counts: Counter[str] = Counter()
    for value, count in cells.counts.items():
        counts[misspell(value, random)] += count
    return Cells(cells.name, counts)


def misspell(value: str, random: np.random.Generator) -> str:
    """Insert typos into a text, unless it has no letters.

    Args:
        value: The text.
        random: The random generator.

    Returns:
        A text of the same length.

    >>> misspell("Frankfurt am Main", np.random.default_rng(0)), misspell("1-23", None)
    ('Frankfurt im hain', '1-23')
    """
    if not any(map(str.isalpha, value)):
        return value
    letters = list(value)
    positions = [position for position, letter in enumerate(letters) if letter.isalnum()]
    typos = max(round(_TYPOS * len(positions)), 1)
    for position in random.choice(positions, size=typos, replace=False):
        letters[position] = ascii_lowercase[random.integers(len(ascii_lowercase))]
    return "".join(letters)
