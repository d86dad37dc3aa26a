"""Estimate how much of a column's containment in others is due to chance."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int, Real

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.shared_values import build_incidence
from datahub_hyperjoin.model.signals.sketches import SketchArrays

_PSEUDO_COLUMNS = 10
"""Number of columns without overlap that are added to each mean, because a few real columns say
little about the overlap expected by chance."""
_DRAWN = 256
"""Number of columns in the sample."""
_COLUMNS = 8192
"""Number of columns that are compared with the sample at once, which bounds memory."""


def expected_containment(
    is_text: Bool[np.ndarray, " column"],
    left: Int[np.ndarray, " pair"],
    right: Int[np.ndarray, " pair"],
    containment: Float[np.ndarray, " pair"],
) -> Float[np.ndarray, " column"]:
    """For each column, estimate how much of its containment in other columns is due to chance.

    Args:
        left: The left column of each pair that shares a value.

    Returns:
        The mean containment of a column in all columns of its kind: text, or not text.
    """
    same_kind: Bool[np.ndarray, " pair"] = is_text[left] == is_text[right]
    total = np.bincount(left, np.where(same_kind, containment, 0.0), minlength=len(is_text))
    return mean_containment(is_text, total)


def mean_containment(
    is_text: Bool[np.ndarray, " column"], total: Real[np.ndarray, " column"]
) -> Float[np.ndarray, " column"]:
    """Divide each column's sum of containments by the number of columns of its kind."""
    kind_size = np.where(is_text, is_text.sum(), (~is_text).sum())
    return total / (kind_size + _PSEUDO_COLUMNS)


def sample_expected_containment(
    lake: Lake,
    sketches: Sequence[bytes],
    arrays: SketchArrays,
    columns: Int[np.ndarray, " chosen"],
) -> Float[np.ndarray, " chosen"]:
    """Estimate `expected_containment` of some columns from a sample of the lake's columns.

    It counts values that `Postings` ignores, too.
    """
    is_text = lake.is_text
    drawn = np.sort(np.random.default_rng(0).permutation(len(lake))[:_DRAWN])
    total = np.zeros(len(lake))
    for start in range(0, len(columns), _COLUMNS):
        some = columns[start : start + _COLUMNS]
        holds = build_incidence([sketches[column] for column in (*some, *drawn)])
        counts = (holds[: len(some)] @ holds[len(some) :].T).tocoo()
        left, right = some[counts.row], drawn[counts.col]
        containment = arrays.containment(left, right, counts.data.astype(np.int64))
        compared = is_text[left] == is_text[right]
        compared &= lake.table_of[left] != lake.table_of[right]
        total += np.bincount(left, np.where(compared, containment, 0.0), minlength=len(lake))
    of_kind, drawn_of_kind = (
        np.where(is_text, among.sum(), (~among).sum()) for among in (is_text, is_text[drawn])
    )
    mean = total / np.maximum(drawn_of_kind, 1)
    return (mean * of_kind / (of_kind + _PSEUDO_COLUMNS))[columns]
