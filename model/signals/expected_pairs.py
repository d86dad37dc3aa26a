"""Estimate how many pairs of columns share values, before any pair is measured.

Some columns, drawn at random, are compared with all columns. This takes little memory, and a small
part of the time of `measure_overlap`.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int
from scipy import sparse

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.overlap import most_partners
from datahub_hyperjoin.model.signals.shared_values import MAX_POSTINGS
from datahub_hyperjoin.model.signals.sketches import concatenate_sketches

_DRAWN = 256
"""Number of random columns that are compared with all columns. With so many, the estimated number
of pairs is off by a few percent."""
_KEPT = 1.5
"""Ratio of a column's kept pairs to the partners that the column selects. It exceeds 1, because
pairs that other columns select are kept, too."""
_CHUNK = 4096
"""Number of columns whose sketches are read at once."""


@dataclass(frozen=True, slots=True)
class ExpectedPairs:
    """The expected number of pairs that are compared, and how many of them are kept.

    The columns of a pair are in different tables. Each pair counts twice, once in each order.
    """

    compared: int
    """Expected number of pairs that share a value."""

    kept: int
    """Expected number of compared pairs that remain if each column keeps only its best partners."""


def expect_pairs(lake: Lake, drawn: int = _DRAWN) -> ExpectedPairs:
    """Estimate from `drawn` random columns how many pairs `measure_overlap` compares and keeps.

    Args:
        lake: The columns with their sketches.
        drawn: Number of columns to compare with all others; if the lake has no more columns, the
            estimate is exact.
    """
    columns = len(lake)
    if not columns:
        return ExpectedPairs(0, 0)
    draw = np.random.default_rng(0)
    chosen = np.sort(draw.choice(columns, min(drawn, columns), replace=False))
    partners, most = _count_partners(lake, chosen), most_partners(columns)
    kept = np.minimum(partners, _KEPT * most)
    scale = columns / len(chosen)
    return ExpectedPairs(round(scale * partners.sum()), round(scale * kept.sum()))


def _count_partners(lake: Lake, chosen: Int[np.ndarray, " chosen"]) -> Int[np.ndarray, " chosen"]:
    """For each chosen column, count the columns of other tables that share a value with it."""
    holds, is_rare = _find_holders(lake, chosen)
    left = holds[chosen]
    left.data *= is_rare[left.indices]
    left.eliminate_zeros()
    partners = np.zeros(len(chosen), dtype=np.int64)
    for start in range(0, len(lake), _CHUNK):
        stop = min(start + _CHUNK, len(lake))
        shared = (left @ holds[start:stop].T).tocoo()
        apart = lake.table_of[chosen[shared.row]] != lake.table_of[start + shared.col]
        partners += np.bincount(shared.row[apart], minlength=len(chosen))
    return partners


def _find_holders(
    lake: Lake, chosen: Int[np.ndarray, " chosen"]
) -> tuple[sparse.csr_array, Bool[np.ndarray, " hash"]]:
    """For each hash of the chosen columns, find the columns whose sketches hold it.

    Returns:
        1 for each column and each of these hashes that it holds, and whether few enough sketches
        hold the hash for it to count.
    """
    sketches = [profile.sketch for profile in lake.profiles]
    wanted = np.unique(concatenate_sketches([sketches[column] for column in chosen])[0])
    ends, found = [np.zeros(1, dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
    for start in range(0, len(sketches), _CHUNK):
        hashes, bounds = concatenate_sketches(sketches[start : start + _CHUNK])
        position = np.minimum(np.searchsorted(wanted, hashes), max(len(wanted) - 1, 0))
        matches = wanted[position] == hashes if len(wanted) else np.zeros(0, dtype=bool)
        found.append(position[matches].astype(np.int32))
        ends.append(ends[-1][-1] + np.concatenate([[0], np.cumsum(matches)])[bounds[1:]])
    values = np.concatenate(found)
    shape = len(sketches), len(wanted)
    holds = sparse.csr_array(
        (np.ones(len(values), dtype=np.int32), values, np.concatenate(ends)), shape=shape
    )
    # Equal sketches count once, as in `count_shared`.
    first = [*{sketch: column for column, sketch in enumerate(sketches)}.values()]
    return holds, np.bincount(holds[first].indices, minlength=len(wanted)) <= MAX_POSTINGS
