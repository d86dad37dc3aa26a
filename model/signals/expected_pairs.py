"""Estimate how many pairs of columns share values, before any pair is measured.

Some columns, drawn at random, are compared with all columns. This takes little memory, and a small
part of the time of `measure_overlap`.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int
from scipy import sparse

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.overlap import most_partners
from datahub_hyperjoin.model.signals.partition import number_distinct
from datahub_hyperjoin.model.signals.shared_values import MAX_POSTINGS
from datahub_hyperjoin.model.signals.sketches import concatenate_sketches

_DRAWN = 256
"""Number of random columns that are compared with all columns. With so many, the estimated number
of pairs is off by a few percent."""
_KEPT = 1.5
"""Ratio of a column's kept pairs to the partners that the column selects. It exceeds 1, because
pairs that other columns select are kept, too."""
_ENDS = np.uint64(1 << 24)
"""Number of different ends of hashes, which take 16 MiB: their last 24 bits."""
_CHUNK = 4096
"""Number of columns whose sketches are read at once."""


@dataclass(frozen=True, slots=True)
class ExpectedPairs:
    """The expected number of pairs that are compared, and of those that are kept.

    Each pair counts twice, once in each order.
    """

    compared: int
    """Expected number of pairs of distinct sketches that share a value. Columns with equal sketches
    are compared with others only once."""

    kept: int
    """Expected number of pairs of columns from different tables that share a value, if each column
    keeps only its best partners."""


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
    _, sketch_of = number_distinct(profile.sketch for profile in lake.profiles)
    partners, sketches = _count_partners(lake, chosen, sketch_of)
    compared = sketches / np.bincount(sketch_of)[sketch_of[chosen]]
    kept = np.minimum(partners, _KEPT * most_partners(columns))
    scale = columns / len(chosen)
    return ExpectedPairs(round(scale * compared.sum()), round(scale * kept.sum()))


def _count_partners(
    lake: Lake, chosen: Int[np.ndarray, " chosen"], sketch_of: Int[np.ndarray, " column"]
) -> tuple[Int[np.ndarray, " chosen"], Int[np.ndarray, " chosen"]]:
    """For each chosen column, count what shares a value with it.

    Returns:
        The number of columns of other tables, and that of other distinct sketches.
    """
    is_first = np.zeros(len(lake), dtype=bool)
    is_first[np.unique(sketch_of, return_index=True)[1]] = True
    holds, is_rare = _find_holders(lake, chosen, is_first)
    left = holds[chosen]
    left.data *= is_rare[left.indices]
    left.eliminate_zeros()
    partners = np.zeros(len(chosen), dtype=np.int64)
    sketches = np.zeros(len(chosen), dtype=np.int64)
    for start in range(0, len(lake), _CHUNK):
        stop = min(start + _CHUNK, len(lake))
        shared = (left @ holds[start:stop].T).tocoo()
        column, partner = chosen[shared.row], start + shared.col
        apart = lake.table_of[column] != lake.table_of[partner]
        other = is_first[partner] & (sketch_of[column] != sketch_of[partner])
        partners += np.bincount(shared.row[apart], minlength=len(chosen))
        sketches += np.bincount(shared.row[other], minlength=len(chosen))
    return partners, sketches


def _find_holders(
    lake: Lake, chosen: Int[np.ndarray, " chosen"], is_first: Bool[np.ndarray, " column"]
) -> tuple[sparse.csr_array, Bool[np.ndarray, " hash"]]:
    """For each hash of the chosen columns, find the columns whose sketches hold it.

    `is_first` selects one column of each distinct sketch.

    Returns:
        1 for each column and each of these hashes that it holds, and whether few enough sketches
        hold the hash for it to count.
    """
    sketches = [profile.sketch for profile in lake.profiles]
    wanted = pd.unique(concatenate_sketches([sketches[column] for column in chosen])[0])
    number = pd.Index(wanted)
    # Few hashes of a lake end in the bits of a wanted one, and only these are searched.
    ends = np.zeros(_ENDS, dtype=bool)
    ends[wanted % _ENDS] = True
    starts_found, found = [np.zeros(1, dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
    for start in range(0, len(sketches), _CHUNK):
        hashes, bounds = concatenate_sketches(sketches[start : start + _CHUNK])
        possible = np.flatnonzero(ends.take((hashes % _ENDS).view(np.int64)))
        position = number.get_indexer(pd.Index(hashes[possible]))
        is_held = position >= 0
        found.append(position[is_held].astype(np.int32))
        before = np.searchsorted(possible[is_held], bounds[1:])
        starts_found.append(starts_found[-1][-1] + before)
    values = np.concatenate(found)
    shape = len(sketches), len(wanted)
    holds = sparse.csr_array(
        (np.ones(len(values), dtype=np.int32), values, np.concatenate(starts_found)), shape=shape
    )
    # Equal sketches count once, as in `Postings`.
    held = values[np.repeat(is_first, np.diff(holds.indptr))]
    return holds, np.bincount(held, minlength=len(wanted)) <= MAX_POSTINGS
