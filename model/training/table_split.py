"""Split tables into two overlapping parts, and swap columns between tables."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Int

from datahub_hyperjoin.model.lake import Lake

_COMPANIONS = 16
"""Maximum number of columns of a table that the two halves get besides the `needed` ones."""
_ALONE = 0.4
"""Share of a table's randomly chosen columns that go to the left half only. The same share goes to
the right half only, and the rest go to both halves."""


def split_columns(
    lake: Lake, needed: Int[np.ndarray, " needed"], random: np.random.Generator
) -> tuple[Int[np.ndarray, " left"], Int[np.ndarray, " right"]]:
    """Choose two overlapping subsets of each table's columns; both contain the `needed` columns.

    Tables without a needed column are left out. See section 4.2 of the paper. With equal subsets,
    the network could recognise a table by its other columns, and would learn to find tables instead
    of columns.
    """
    halves: tuple[list[Int[np.ndarray, " _"]], ...] = [needed], [needed]
    for table in np.unique(lake.table_of[needed]):
        others = np.setdiff1d(lake.columns_of[table], needed)
        count = min(len(others), int(random.integers(_COMPANIONS + 1)))
        companions = random.choice(others, size=count, replace=False)
        draws = random.random(count)
        halves[0].append(companions[draws < 1 - _ALONE])
        halves[1].append(companions[draws >= _ALONE])
    left, right = (np.unique(np.concatenate(half)) for half in halves)
    return left, right


def split_values(
    counts: Sequence[int], random: np.random.Generator
) -> tuple[Bool[np.ndarray, " value"], Bool[np.ndarray, " value"]]:
    """Split a column's values as if its rows were split into two overlapping parts.

    Returns:
        Two masks of the values; each contains at least one value.
    """
    # A value that r rows have is in a random share s of the rows with probability 1 - (1 - s)^r.
    repeats = np.asarray(counts)
    sides = []
    for _ in range(2):
        rows = random.uniform(0.3, 0.8)
        held = random.random(len(repeats)) < 1 - (1 - rows) ** repeats
        held[random.integers(len(repeats))] = True
        sides.append(held)
    left, right = sides
    # Two lists of unique values may overlap little, so the right half drops a random share of the
    # unique values that both halves hold.
    shared_rows = random.random()
    dropped = left & (repeats == 1) & (random.random(len(repeats)) > shared_rows)
    kept = right & ~dropped
    return left, kept if kept.any() else right


def move_columns(
    tables: Int[np.ndarray, " column"],
    movable: Bool[np.ndarray, " column"],
    share: float,
    random: np.random.Generator,
) -> Int[np.ndarray, " column"]:
    """Move a random share of the movable columns into other tables.

    Joinable columns are seldom in the same table, but both halves of a column are. A column that
    moves among the columns of another table, under its title, can only be recognised by its own
    name and values.

    Args:
        share: Share of them that do, in [0, 1].

    Returns:
        The table of each column: its own, or another of `tables`.
    """
    moved = movable & (random.random(len(tables)) < share)
    return np.where(moved, random.permutation(tables), tables)
