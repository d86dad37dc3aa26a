"""Cutting tables in two: which columns and values a half holds, and in which table they stand."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Int

from datahub_hyperjoin.model.lake import Lake

_COMPANIONS = 16
"""Most further columns of a table beside its keys, in both halves together."""
_ALONE = 0.4
"""Share of them that one half has, and the same of the other; the rest stand in both."""


def split_columns(
    lake: Lake, needed: Int[np.ndarray, " needed"], random: np.random.Generator
) -> tuple[Int[np.ndarray, " left"], Int[np.ndarray, " right"]]:
    """Two overlapping subsets of some tables' columns (paper, section 4.2).

    Were both the same, a table would be known again by its companions, and the network would learn
    to find tables instead of columns.

    Args:
        lake: The columns.
        needed: Those that both subsets hold.
        random: Where choices come from.

    Returns:
        Both subsets, in order.
    """
    halves: tuple[list[Int[np.ndarray, " _"]], ...] = [needed], [needed]
    for table in np.unique(lake.table_of[needed]):
        others = np.setdiff1d(lake.columns_of[table], needed)
        count = min(len(others), int(random.integers(_COMPANIONS + 1)))
        companions = random.choice(others, size=count, replace=False)
        place = random.random(count)
        halves[0].append(companions[place < 1 - _ALONE])
        halves[1].append(companions[place >= _ALONE])
    left, right = (np.unique(np.concatenate(half)) for half in halves)
    return left, right


def split_values(
    counts: Sequence[int], random: np.random.Generator
) -> tuple[Bool[np.ndarray, " value"], Bool[np.ndarray, " value"]]:
    """Which values two overlapping subsets of the rows hold; each subset holds at least one.

    Args:
        counts: How many rows have each value.
        random: Where choices come from.

    Returns:
        For each value, whether the left and whether the right half holds it.
    """
    repeats = np.asarray(counts)
    sides = []
    for _ in range(2):
        rows = random.uniform(0.3, 0.8)
        held = random.random(len(repeats)) < 1 - (1 - rows) ** repeats
        held[random.integers(len(repeats))] = True
        sides.append(held)
    left, right = sides
    shared_rows = random.random()
    dropped = left & (repeats == 1) & (random.random(len(repeats)) > shared_rows)
    kept = right & ~dropped
    return left, kept if kept.any() else right


def swap_tables(
    tables: Int[np.ndarray, " column"],
    movable: Bool[np.ndarray, " column"],
    share: float,
    random: np.random.Generator,
) -> Int[np.ndarray, " column"]:
    """Puts some columns into other tables.

    Joinable columns seldom share a table, and both halves of one do. A column that stands among a
    stranger's columns, under its title, can only be known by what it is itself.

    Args:
        tables: The table of each column.
        movable: Which columns may move.
        share: How many of them do, in [0, 1].
        random: Where choices come from.

    Returns:
        The table that each column stands in now: its own, or another of `tables`.
    """
    moved = movable & (random.random(len(tables)) < share)
    return np.where(moved, random.permutation(tables), tables)
