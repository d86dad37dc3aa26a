"""Compare the values of columns and of the keys that the columns may refer to."""

import numpy as np
from jaxtyping import Bool, Float

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.candidates import ReferenceCandidates
from datahub_hyperjoin.model.roles.name_clues import NameClues

_ALL = 0.98
"""Minimum estimated containment at which a key is assumed to hold all values of a column."""
_GAPLESS = 0.999
"""A column has no gaps if its numbers fill at least this share of their range."""
_MANY_WORDS = 50
"""Maximum number of shared words that count as evidence."""


def find_measures(
    lake: Lake,
    candidates: ReferenceCandidates,
    names: NameClues,
    distinct: Float[np.ndarray, " column"],
) -> Float[np.ndarray, " pair"]:
    """For each pair, score from 0 to 1 how much the column looks like a measure, such as an age.

    A measure refers to no key. Its numbers are few of the key's, and its name neither marks an
    identifier, as the key's does, nor is that of the key or its table.
    """
    column = candidates.referring
    explained = np.maximum(names.column_explained, names.table_explained)
    return (
        names.unmarked * lake.is_whole[column] * (1 - _held(candidates, distinct)) * (1 - explained)
    )


def compare_sizes(
    candidates: ReferenceCandidates, distinct: Float[np.ndarray, " column"]
) -> Float[np.ndarray, " pair"]:
    """Score each pair by the share of the key's values that the column holds.

    The score is this share minus ½, so it lies between -½ and ½. The share is the *coverage* of
    Rostin et al. (2009), "A Machine Learning Approach to Foreign Key Discovery".
    """
    return _held(candidates, distinct) - 0.5


def _held(
    candidates: ReferenceCandidates, distinct: Float[np.ndarray, " column"]
) -> Float[np.ndarray, " pair"]:
    """Return the share of each key's values that the column holds."""
    shared = distinct[candidates.referring] * candidates.containment
    return np.minimum(shared / np.maximum(distinct[candidates.referenced], 1), 1)


def find_parts(
    lake: Lake, candidates: ReferenceCandidates, distinct: Float[np.ndarray, " column"]
) -> Bool[np.ndarray, " pair"]:
    """Mark the pairs in which the column's values are a proper subset of the key's values.

    Numbers without gaps are no part of another counter, but one of their own.
    """
    column, key = candidates.referring, candidates.referenced
    is_counter = lake.density[column] >= _GAPLESS
    return (distinct[column] < distinct[key]) & (candidates.containment >= _ALL) & ~is_counter


def words_in_common(
    lake: Lake, candidates: ReferenceCandidates, distinct: Float[np.ndarray, " column"]
) -> Float[np.ndarray, " pair"]:
    """Score how well each key covers the words of a text column, from -1 to 1.

    The score is negative if the key lacks more than a quarter of the column's values. It is 0 if
    one of the two holds no text.
    """
    column, key = candidates.referring, candidates.referenced
    shared = np.minimum(distinct[column] * candidates.containment, _MANY_WORDS)
    amount = np.log1p(shared) / np.log1p(_MANY_WORDS)
    # Words match by meaning: if the key lacks one word in four, the others are no evidence.
    amount *= np.maximum(4 * candidates.containment - 3, -1)
    return np.where(lake.is_text[column] & lake.is_text[key], amount, 0.0)
