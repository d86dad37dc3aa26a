"""Estimate how many pairs of columns share values, before any pair is measured.

Some columns, drawn at random, are compared with all columns. This takes little memory, and a small
part of the time of `measure_overlap`.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int, Int32, UInt64

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.pairs import ColumnInts, number_distinct
from datahub_hyperjoin.model.signals.partners import most_partners
from datahub_hyperjoin.model.signals.sketches import MAX_POSTINGS, concatenate_sketches

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
_BITS = 64
"""Number of columns that one word marks."""


@dataclass(frozen=True, slots=True)
class ExpectedPairs:
    """The expected number of pairs that are compared, and of those that are kept."""

    compared: int
    """Expected number of pairs of distinct sketches that share a value. Columns with equal sketches
    are compared with others only once."""

    kept: int
    """Expected number of pairs of columns from different tables that share a value, if each column
    keeps only its best partners."""


def expect_pairs(lake: Lake, drawn: int = _DRAWN) -> ExpectedPairs:
    """Estimate from `drawn` random columns how many pairs `measure_overlap` compares and keeps."""
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
    lake: Lake, chosen: Int[np.ndarray, " chosen"], sketch_of: ColumnInts
) -> tuple[Int[np.ndarray, " chosen"], Int[np.ndarray, " chosen"]]:
    """For each chosen column, count what shares a value with it."""
    is_first = np.zeros(len(lake), dtype=bool)
    is_first[np.unique(sketch_of, return_index=True)[1]] = True
    values, bounds, count = _find_values(lake, chosen)
    # Equal sketches count once, as in `Postings`.
    held = values[np.repeat(is_first, np.diff(bounds))]
    is_rare = np.bincount(held, minlength=count) <= MAX_POSTINGS
    holders = _mark_holders(values, bounds, chosen, is_rare)
    partners = np.zeros(len(chosen), dtype=np.int64)
    sketches = np.zeros(len(chosen), dtype=np.int64)
    for start in range(0, len(lake), _CHUNK):
        some = slice(start, start + _CHUNK)
        own = bounds[start : start + _CHUNK + 1]
        shares = _share_values(values[own[0] : own[-1]], own - own[0], holders)[:, : len(chosen)]
        apart = lake.table_of[some, np.newaxis] != lake.table_of[chosen]
        other = is_first[some, np.newaxis] & (sketch_of[some, np.newaxis] != sketch_of[chosen])
        partners += np.count_nonzero(shares & apart, axis=0)
        sketches += np.count_nonzero(shares & other, axis=0)
    return partners, sketches


def _find_values(
    lake: Lake, chosen: Int[np.ndarray, " chosen"]
) -> tuple[Int32[np.ndarray, " hash"], Int[np.ndarray, " bound"], int]:
    """Find the hashes of each column that the chosen columns hold, too."""
    sketches = [profile.sketch for profile in lake.profiles]
    wanted = pd.unique(concatenate_sketches([sketches[column] for column in chosen])[0])
    number = pd.Index(wanted)
    # Few hashes of a lake end in the bits of a wanted one, and only these are searched.
    ends = np.zeros(_ENDS, dtype=bool)
    ends[wanted % _ENDS] = True
    bounds, found = [np.zeros(1, dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
    for start in range(0, len(sketches), _CHUNK):
        hashes, own = concatenate_sketches(sketches[start : start + _CHUNK])
        possible = np.flatnonzero(ends.take((hashes % _ENDS).view(np.int64)))
        position = number.get_indexer(pd.Index(hashes[possible]))
        is_held = position >= 0
        found.append(position[is_held].astype(np.int32))
        bounds.append(bounds[-1][-1] + np.searchsorted(possible[is_held], own[1:]))
    return np.concatenate(found), np.concatenate(bounds), len(wanted)


def _mark_holders(
    values: Int32[np.ndarray, " hash"],
    bounds: Int[np.ndarray, " bound"],
    chosen: Int[np.ndarray, " chosen"],
    is_rare: Bool[np.ndarray, " value"],
) -> UInt64[np.ndarray, "word value"]:
    """Mark the chosen columns that hold each value, if it is rare, with one bit for each column."""
    holders = np.zeros((-(-len(chosen) // _BITS), len(is_rare)), dtype=np.uint64)
    for at, column in enumerate(chosen.tolist()):
        own = values[bounds[column] : bounds[column + 1]]
        holders[at // _BITS, own] |= np.uint64(1 << at % _BITS)
    return np.where(is_rare, holders, np.uint64(0))


def _share_values(
    values: Int32[np.ndarray, " hash"],
    bounds: Int[np.ndarray, " bound"],
    holders: UInt64[np.ndarray, "word value"],
) -> Bool[np.ndarray, "column bit"]:
    """For each column and each bit of `holders`, return whether a value of the column has it."""
    shared = np.zeros((len(bounds) - 1, len(holders)), dtype="<u8")
    some = np.flatnonzero(np.diff(bounds))
    for word, marks in enumerate(holders) if len(some) else ():
        shared[some, word] = np.bitwise_or.reduceat(marks[values], bounds[some])
    return np.unpackbits(shared.view(np.uint8), axis=1, bitorder="little").view(bool)
