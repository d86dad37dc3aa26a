"""Pairs of tables that join, made by splitting those of a lake: what OmniMatch learns from.

OmniMatch (Koutras et al.: OmniMatch: Joinability Discovery in Data Products, VLDB 2025) makes two
tables of each. Some columns go to both, by chance the most diverse or any; the others are divided.
Both tables have the first rows, and of the other rows each has those on its side of a cut. By
chance, the texts that the second one shares get typos: of each text 10 % of the letters and digits,
one at least.

The authors leave it to a configuration how many columns and rows are shared; here it is one up to
half of the columns, and 10 to 90 % of the rows. A rival knows no rows but distinct values in their
order, so that each column is cut by itself, at the same share. Typos are any letter, not one nearby
on a keyboard, and stand in all rows of the second table, where the authors at times have them in
the first rows only. Numbers and dates are not changed.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from string import ascii_lowercase

import numpy as np
from jaxtyping import Int

from datahub_hyperjoin.evaluate.rivals.cells import Cells
from datahub_hyperjoin.evaluate.suite import ColumnName

_FEWEST_SHARED, _MOST_SHARED = 0.1, 0.9
_HALF = 0.5
_TYPOS = 0.1


@dataclass(frozen=True, slots=True)
class Halves:
    """A lake of tables that were split."""

    lake: tuple[Cells, ...]
    """Its columns, table by table."""

    triplets: Int[np.ndarray, "triplet 3"]
    """Places of a column, of the same in the other table, and of any other one there."""


def split_tables(lake: Sequence[Cells], random: np.random.Generator) -> Halves:
    """Makes two tables of each that has two columns or more.

    Args:
        lake: Columns, table by table.
        random: Decides all splits and typos.

    Returns:
        The columns of the new tables, and what joins.
    """
    halves: list[Cells] = []
    triplets = []
    for _, group in groupby(lake, key=lambda cells: cells.name.table):
        columns = list(group)
        if len(columns) > 1:
            first, second, shared = _split(columns, random)
            start, middle = len(halves), len(halves) + len(first)
            triplets += [
                (start + place, middle + place, middle + other)
                for place in range(shared)
                for other in range(len(second))
                if other != place
            ]
            halves += [*first, *second]
    return Halves(tuple(halves), np.array(triplets, dtype=np.int64).reshape(-1, 3))


def _split(
    columns: Sequence[Cells], random: np.random.Generator
) -> tuple[list[Cells], list[Cells], int]:
    """Both tables, which begin with what they share, and how many columns that is."""
    shared = int(random.integers(1, len(columns) // 2 + 1))
    order = random.permutation(len(columns))
    if random.random() < _HALF:
        order = np.argsort([-len(cells.counts) for cells in columns], kind="stable")
    both, rest = order[:shared], np.sort(order[shared:])
    start = random.uniform(_FEWEST_SHARED, _MOST_SHARED)
    cut = random.uniform(start, 1)
    middle = len(rest) // 2
    first = [_part(columns[place], 1, before=cut, after=1) for place in [*both, *rest[:middle]]]
    second = [
        _part(columns[place], 2, before=start, after=cut) for place in [*both, *rest[middle:]]
    ]
    if random.random() < _HALF:
        second[:shared] = [_misspell(part, random) for part in second[:shared]]
    return first, second, shared


def _part(cells: Cells, half: int, *, before: float, after: float) -> Cells:
    """The values before a share of them, and those after another."""
    size = len(cells.counts)
    counts = {
        value: count
        for at, (value, count) in enumerate(cells.counts.items())
        if at < before * size or at >= after * size
    }
    return Cells(ColumnName(f"{cells.name.table} {half}", cells.name.column), counts)


def _misspell(cells: Cells, random: np.random.Generator) -> Cells:
    counts: Counter[str] = Counter()
    for value, count in cells.counts.items():
        counts[misspell(value, random)] += count
    return Cells(cells.name, counts)


def misspell(value: str, random: np.random.Generator) -> str:
    """A text with typos; what has no letter is as it was.

    Args:
        value: The text.
        random: Decides where and what.

    Returns:
        As many characters.

    >>> misspell("Frankfurt am Main", np.random.default_rng(0)), misspell("1-23", None)
    ('Frankfurt im hain', '1-23')
    """
    if not any(map(str.isalpha, value)):
        return value
    letters = list(value)
    places = [place for place, letter in enumerate(letters) if letter.isalnum()]
    typos = max(round(_TYPOS * len(places)), 1)
    for place in random.choice(places, size=typos, replace=False):
        letters[place] = ascii_lowercase[random.integers(len(ascii_lowercase))]
    return "".join(letters)
