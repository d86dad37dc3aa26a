"""Judge the probabilities of references on labelled lakes."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from benchmarks.reference_trees.examples import DOUBT, RIGHT, WRONG, Examples
from datahub_hyperjoin.model.roles.pair_scores import normalise

_SURE = 0.5
"""Minimum probability of a reference that is written."""
_BINS = 10
"""Number of bins of the expected calibration error."""


class Judgement(NamedTuple):
    """How well references were found in a lake."""

    precision: float
    recall: float
    f1: float
    calibration_error: float
    """Expected calibration error of the best reference of each column."""

    log_loss: float
    """Mean negative logarithm of the probability of what each judged column refers to."""


def probabilities(lake: Examples, scores: Float[np.ndarray, " pair"]) -> Float[np.ndarray, " pair"]:
    """Return the probability of each pair; those of a column and of no reference add up to 1."""
    return normalise(lake.column, scores)


def judge(lake: Examples, corrections: Float[np.ndarray, " pair"]) -> Judgement:
    """Judge the references that have at least an even chance.

    Args:
        lake: The candidates and their labels.
        corrections: What is added to the score of each pair.
    """
    p = probabilities(lake, lake.scores + corrections)
    ends = zip(lake.column.tolist(), lake.key.tolist(), strict=True)
    written: dict[frozenset[int], float] = {}
    wrong = set[frozenset[int]]()
    for at, pair in enumerate(map(frozenset, ends)):
        if p[at] >= _SURE and lake.is_judged[at]:
            written[pair] = max(p[at], written.get(pair, 0.0))
            if lake.labels[at] == WRONG and pair not in lake.true:
                wrong.add(pair)
    right = len(lake.true & {*written})
    asked = {pair for pair in lake.asked if any(lake.judged[one] for one in pair)}
    precision = right / max(right + len(wrong), 1)
    recall = len(asked & {*written}) / max(len(asked), 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    return Judgement(precision, recall, f1, _calibration_error_of(lake, p), _log_loss(lake, p))


def _calibration_error_of(lake: Examples, p: Float[np.ndarray, " pair"]) -> float:
    best = np.zeros(lake.columns)
    known = lake.is_judged & (lake.labels != DOUBT)
    np.maximum.at(best, lake.column[known], p[known])
    chosen = known & (p == best[lake.column])
    return calibration_error(p[chosen], lake.labels[chosen] == RIGHT)


def calibration_error(p: Float[np.ndarray, " pair"], right: Bool[np.ndarray, " pair"]) -> float:
    """Return the expected calibration error of some probabilities."""
    place = np.minimum((p * _BINS).astype(int), _BINS - 1)
    return float(np.abs(np.bincount(place, p - right, _BINS)).sum() / max(len(p), 1))


def _log_loss(lake: Examples, p: Float[np.ndarray, " pair"]) -> float:
    count = lake.columns
    known = np.where(lake.labels == DOUBT, 0.0, p)
    none = 1 - np.bincount(lake.column, p, count)
    right = np.bincount(lake.column, p * (lake.labels == RIGHT), count)
    has_key = np.bincount(lake.column, lake.labels == RIGHT, count) > 0
    left = none + np.bincount(lake.column, known, count)
    meant = np.where(has_key, right, none) / np.maximum(left, 1e-12)
    has_pairs = (np.bincount(lake.column, minlength=count) > 0) & lake.judged
    return float(-np.log(np.maximum(meant[has_pairs], 1e-6)).mean()) if has_pairs.any() else 0.0
