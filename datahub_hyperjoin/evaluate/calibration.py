r"""Compute the expected calibration error of a method's scores.

Scores are sorted into M = 15 bins of equal width. With $B_m$ the candidates whose score lies in
$((m-1)/M, m/M]$, of n candidates in all, the expected calibration error is

$$\mathrm{ECE} = \sum_{m=1}^{M} \frac{|B_m|}{n}\,|\mathrm{acc}(B_m) - \mathrm{conf}(B_m)|,$$

with acc the share of right candidates and conf the mean score (Guo et al., On Calibration of
Modern Neural Networks, 2017, equations 2, 3 and 5). Of the candidates scored 0.9, nine in ten
should be right.

All ranked candidates count, up to 25 a query column. Users of the catalog see fewer: the first
`ranking.top_k` of those that reach `ranking.min_joinability`. Those would be a biased sample: both
limits depend on the score itself, differ from recipe to recipe, and leave nothing of a method with
low scores. Over all candidates a method must also be right where its score is low.

A candidate that is right but not in the ground truth counts as wrong, as it does for precision.

The error of a sample is never zero: chance moves shares away from scores, and resampling query
columns adds as much again. Intervals are therefore basic bootstrap intervals (Davison and Hinkley,
Bootstrap Methods and their Application, 1997, equation 5.6), which subtract this excess.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from typing_extensions import Self

from datahub_hyperjoin.evaluate.bootstrap import TAILS, Bootstrap, Interval
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName, Rankings

BINS = 15
"""Number of bins, M."""
_EDGES = np.linspace(0, 1, BINS + 1)
_LEAST_COUNT = 1e-12
"""Divisor that replaces the size 0 of an empty sample, so that the sample's error is 0."""

BinnedScores = Float[np.ndarray, "query bin fact"]
"""For each query column and bin: the number of candidates, the number of right candidates, and the
sum of the candidates' scores."""


def bin_scores(
    truth: Mapping[ColumnName, frozenset[ColumnName]], rankings: Rankings
) -> BinnedScores | None:
    """Group each query column's candidates into bins of similar scores, and summarise each bin.

    The summary of a bin is the number of candidates, how many of them join, and the sum of scores.

    Args:
        truth: The columns that join with each query column.
        rankings: The candidates for each query column, best first.

    Returns:
        One row per query column, in the order of `truth`. None if a score lies outside [0, 1], so
        that it cannot be a probability.

    >>> query, gold = ColumnName("a", "x"), ColumnName("b", "x")
    >>> from datahub_hyperjoin.evaluate.labelled_lake import RankedColumn
    >>> binned = bin_scores({query: frozenset({gold})}, {query: [RankedColumn(gold, 0.7)]})
    >>> [] if binned is None else binned.sum(axis=(0, 1)).tolist()
    [1.0, 1.0, 0.7]
    """
    binned = np.zeros((len(truth), BINS, 3))
    for row, (query, gold) in zip(binned, truth.items(), strict=True):
        for candidate, score in rankings.get(query, ()):
            if not 0 <= score <= 1:
                return None
            # Bins include their upper edge; 0 belongs to the first.
            bin_index = max(0, int(np.searchsorted(_EDGES, score)) - 1)
            row[bin_index] += 1, candidate in gold, score
    return binned


@dataclass(frozen=True)
class Reliability:
    """The binned scores of a method, averaged over the query columns.

    The calibration error of the method is computed from these averages.
    """

    whole: Float[np.ndarray, "bin fact"]
    """Mean of the binned scores over query columns; at least one bin has a candidate."""

    draws: Float[np.ndarray, "draw bin fact"]
    """For each bootstrap draw of query columns, the mean of the binned scores over the draw."""

    @classmethod
    def of(cls, binned: BinnedScores, bootstrap: Bootstrap) -> Self:
        """Average a method's scores over all query columns, and over each bootstrap sample."""
        return cls(binned.mean(axis=0), bootstrap.resampled(binned))

    def error(self) -> Interval:
        """Return the expected calibration error, in [0, 1]."""
        interval = _basic(expected_error(self.whole), expected_error(self.draws))
        # An error is never negative, but the lower bound of its basic interval may be.
        return Interval(interval.mean, max(0.0, interval.low), interval.high)

    def difference_to(self, other: Self) -> Interval:
        """Return the calibration error of this method minus that of another method.

        Both errors are computed on the same bootstrap samples.

        Returns:
            The difference; below 0 if this method is calibrated better.
        """
        whole = expected_error(self.whole) - expected_error(other.whole)
        return _basic(whole, expected_error(self.draws) - expected_error(other.draws))

    def bins(self) -> tuple["Bin", ...]:
        """Return the bins that contain candidates, lowest scores first."""
        return tuple(self._bin(int(index)) for index in np.flatnonzero(self.whole[:, 0]))

    def _bin(self, index: int) -> "Bin":
        count, right, scores = self.whole[index]
        drawn = self.draws[:, index]
        # A draw may leave the bin empty; it then has no share of right candidates.
        drawn = drawn[drawn[:, 0] > 0]
        low, high = np.percentile(drawn[:, 1] / drawn[:, 0], TAILS)
        return Bin(
            low=float(_EDGES[index]),
            high=float(_EDGES[index + 1]),
            share=float(count / self.whole[:, 0].sum()),
            score=float(scores / count),
            right=Interval(float(right / count), float(low), float(high)),
        )


@dataclass(frozen=True, slots=True)
class Bin:
    """Summary of the candidates in one bin of similar scores."""

    low: float
    """Lower edge of the bin. Scores on this edge belong to the previous bin, except 0."""

    high: float
    """Upper edge of the bin, which includes this edge."""

    share: float
    """Share of all candidates that fall into the bin."""

    score: float
    """Mean score."""

    right: Interval
    """Share of right candidates."""


def expected_error(binned: Float[np.ndarray, "*draw bin fact"]) -> Float[np.ndarray, "*draw"]:
    """Compute the expected calibration error from binned scores.

    Args:
        binned: Facts of the bins as in `BinnedScores`, for one or more samples.
    """
    counts, right, scores = np.moveaxis(binned, -1, 0)
    return np.abs(right - scores).sum(axis=-1) / np.maximum(counts.sum(axis=-1), _LEAST_COUNT)


def _basic(estimate: Float[np.ndarray, ""], draws: Float[np.ndarray, " draw"]) -> Interval:
    """Return the basic bootstrap interval around an estimate.

    The percentiles of the draws are mirrored at the estimate: what lies above it by chance is
    subtracted from it. The interval is extended if necessary to include the estimate.
    """
    low, high = np.percentile(draws, TAILS)
    mean = float(estimate)
    return Interval(mean, min(mean, float(2 * mean - high)), max(mean, float(2 * mean - low)))
