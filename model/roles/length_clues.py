"""Compare the lengths of values in columns and in the keys that the columns may refer to."""

import itertools

import numpy as np
from jaxtyping import Bool, Float, Int

from datahub_hyperjoin.model.lake import Lake

_TOLERANCE = 1e-9
"""Distances between lengths count as equal if they differ by less than this."""


def fit_in_lengths(
    lake: Lake, column: Int[np.ndarray, " pair"], key: Int[np.ndarray, " pair"]
) -> Bool[np.ndarray, " pair"]:
    """Mark the pairs in which the lengths of the column's values fit the key.

    A key cannot hold values of other lengths than its own.

    Args:
        lake: The columns; lengths that are not known rule out nothing.
    """
    shortest, longest = _lengths(lake).T
    fits = (shortest[column] >= shortest[key]) & (longest[column] <= longest[key])
    known = _has_values(lake)
    return fits | ~(known[column] & known[key])


def measure_length_chance(
    lake: Lake,
    is_key: Bool[np.ndarray, " column"],
    column: Int[np.ndarray, " pair"],
    key: Int[np.ndarray, " pair"],
) -> Float[np.ndarray, " pair"]:
    """Compute how likely a random key is to fit a column's lengths no worse than a given key.

    Few keys hold codes of exactly three characters, so a column of such codes hardly ever meets one
    by chance. The distance of two columns is the sum of the absolute differences between the
    logarithms of their shortest and of their longest lengths.

    Returns:
        Share of the keys of the column's type, in (0, 1]; 1 / e, the geometric mean of such shares
        by chance, where lengths are not known or the types differ.
    """
    known = _has_values(lake)
    _, kinds = np.unique([profile.type.value for profile in lake.profiles], return_inverse=True)
    ends = np.log1p(_lengths(lake).astype(np.float64))
    chance = np.full(len(column), np.exp(-1.0))
    compared = known[column] & known[key] & (kinds[column] == kinds[key])
    for kind in np.unique(kinds):
        pairs = np.flatnonzero(compared & (kinds[column] == kind))
        of_keys, counts = np.unique(
            ends[is_key & known & (kinds == kind)], axis=0, return_counts=True
        )
        ranges, which = np.unique(ends[column[pairs]], axis=0, return_inverse=True)
        distance = np.abs(ends[column[pairs]] - ends[key[pairs]]).sum(axis=1)
        order = np.argsort(which.ravel(), kind="stable")
        starts = np.searchsorted(which.ravel()[order], np.arange(len(ranges) + 1))
        # Columns of equal lengths have equal distances from all keys.
        for range_, (start, end) in zip(ranges, itertools.pairwise(starts.tolist()), strict=True):
            chosen = order[start:end]
            distances = np.abs(of_keys - range_).sum(axis=1)
            nearest = np.argsort(distances)
            closer = np.searchsorted(distances[nearest], distance[chosen] + _TOLERANCE)
            chance[pairs[chosen]] = counts[nearest].cumsum()[closer - 1] / counts.sum()
    return chance


def _lengths(lake: Lake) -> Int[np.ndarray, "column 2"]:
    """For each column, return the lengths of the shortest and of the longest value."""
    lengths = [(each.lengths.shortest, each.lengths.longest) for each in lake.profiles]
    return np.array(lengths, dtype=np.int64).reshape(-1, 2)


def _has_values(lake: Lake) -> Bool[np.ndarray, " column"]:
    counted = (profile.rows > profile.nulls for profile in lake.profiles)
    return np.fromiter(counted, dtype=bool, count=len(lake))
