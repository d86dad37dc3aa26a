r"""Whether a joinability says how often it is right: the expected calibration error.

Scores are sorted into M = 15 bins of equal width. With $B_m$ the answers whose score lies in
$((m-1)/M, m/M]$, of n answers in all,

$$\mathrm{ECE} = \sum_{m=1}^{M} \frac{|B_m|}{n}\,|\mathrm{acc}(B_m) - \mathrm{conf}(B_m)|,$$

acc being the share of right answers and conf the mean score (Guo et al., On Calibration of Modern
Neural Networks, 2017, equations 2, 3 and 5). Of what says 0.9, nine in ten should be right.

All answers ranked count, up to 25 a query. A user of the catalog sees fewer: the first
`ranking.top_k` of those that reach `ranking.min_joinability`. They are an unfair sample of what
scores mean: both cuts go by the score itself, differ from recipe to recipe, and leave nothing of a
method whose scores are low. Over all answers a method must also be right where it says "hardly".

What is right and not in the truth counts as wrong, as it does for precision.

The error of a sample is never zero: chance alone moves shares away from scores, and drawing queries
anew adds as much again. Intervals are therefore the basic ones (Davison and Hinkley, Bootstrap
Methods and their Application, 1997, equation 5.6), which take the excess off again.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from typing_extensions import Self

from datahub_hyperjoin.evaluate.bootstrap import TAILS, Bootstrap, Interval
from datahub_hyperjoin.evaluate.suite import ColumnName, Rankings

BINS = 15
"""M."""
_EDGES = np.linspace(0, 1, BINS + 1)
_FEWEST = 1e-12

ScoredAnswers = Float[np.ndarray, "query bin fact"]
"""Of a query's answers in a bin: how many there are, how many are right, and the scores' sum."""


def score_answers(
    truth: Mapping[ColumnName, frozenset[ColumnName]], rankings: Rankings
) -> ScoredAnswers | None:
    """Sorts answers into bins.

    Args:
        truth: Every query, and the columns that join with it.
        rankings: The answers, best first.

    Returns:
        One row a query, in the order of `truth`; nothing if a score lies outside [0, 1], and so
        says nothing of how often it is right.

    >>> query, gold = ColumnName("a", "x"), ColumnName("b", "x")
    >>> from datahub_hyperjoin.evaluate.suite import Answer
    >>> found = score_answers({query: frozenset({gold})}, {query: [Answer(gold, 0.7)]})
    >>> [] if found is None else found.sum(axis=(0, 1)).tolist()
    [1.0, 1.0, 0.7]
    """
    found = np.zeros((len(truth), BINS, 3))
    for row, (query, gold) in zip(found, truth.items(), strict=True):
        for candidate, score in rankings.get(query, ()):
            if not 0 <= score <= 1:
                return None
            place = max(0, int(np.searchsorted(_EDGES, score)) - 1)
            row[place] += 1, candidate in gold, score
    return found


@dataclass(frozen=True)
class Reliability:
    """What the scores of a method say, and what was right."""

    whole: Float[np.ndarray, "bin fact"]
    """Mean over queries of the method's answers, with at least one answer."""

    draws: Float[np.ndarray, "draw bin fact"]
    """The same of queries drawn anew."""

    @classmethod
    def of(cls, found: ScoredAnswers, bootstrap: Bootstrap) -> Self:
        """Draws queries anew.

        Args:
            found: A method's scored answers.
            bootstrap: Draws of its queries.

        Returns:
            Both means.
        """
        return cls(found.mean(axis=0), bootstrap.resampled(found))

    def error(self) -> Interval:
        """The expected calibration error, in [0, 1]."""
        found = _basic(expected_error(self.whole), expected_error(self.draws))
        return Interval(found.mean, max(0.0, found.low), found.high)

    def less(self, other: Self) -> Interval:
        """The error less another method's, on the same draws of the same queries.

        Args:
            other: The method that this one is compared with.

        Returns:
            The difference; below 0 if this one is calibrated better.
        """
        whole = expected_error(self.whole) - expected_error(other.whole)
        return _basic(whole, expected_error(self.draws) - expected_error(other.draws))

    def bins(self) -> tuple["Bin", ...]:
        """The bins that hold answers, those of low scores first."""
        return tuple(self._bin(int(place)) for place in np.flatnonzero(self.whole[:, 0]))

    def _bin(self, place: int) -> "Bin":
        answers, right, scores = self.whole[place]
        drawn = self.draws[:, place]
        drawn = drawn[drawn[:, 0] > 0]
        low, high = np.percentile(drawn[:, 1] / drawn[:, 0], TAILS)
        return Bin(
            low=float(_EDGES[place]),
            high=float(_EDGES[place + 1]),
            share=float(answers / self.whole[:, 0].sum()),
            score=float(scores / answers),
            right=Interval(float(right / answers), float(low), float(high)),
        )


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers whose scores are much alike."""

    low: float
    """Below all scores it holds, but 0."""

    high: float
    """The greatest score it could hold."""

    share: float
    """Of all answers."""

    score: float
    """Their mean score."""

    right: Interval
    """How many of them are right."""


def expected_error(found: Float[np.ndarray, "*draw bin fact"]) -> Float[np.ndarray, "*draw"]:
    """The expected calibration error.

    Args:
        found: What the bins hold, as in `ScoredAnswers`, of any queries.

    Returns:
        In [0, 1]; 0 if there are no answers.
    """
    answers, right, scores = np.moveaxis(found, -1, 0)
    return np.abs(right - scores).sum(axis=-1) / np.maximum(answers.sum(axis=-1), _FEWEST)


def _basic(found: Float[np.ndarray, ""], draws: Float[np.ndarray, " draw"]) -> Interval:
    """The interval as far below what was found as draws lie above it, and holding it."""
    low, high = np.percentile(draws, TAILS)
    whole = float(found)
    return Interval(whole, min(whole, float(2 * whole - high)), max(whole, float(2 * whole - low)))
