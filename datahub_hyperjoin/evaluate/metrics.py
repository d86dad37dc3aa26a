r"""Metrics of ranking quality, computed for each query column.

With $R_K(q)$ the first K candidates for a query column and $R^*(q)$ the columns that join with it,

$$\mathrm{Precision@K} = |R_K(q) \cap R^*(q)| / K,\quad
\mathrm{Recall@K} = |R_K(q) \cap R^*(q)| / |R^*(q)|$$

(paper, equations 26 and 27). Precision is divided by K, however few candidates there are. The
ceiling is the score of a perfect ranking. Average precision covers all candidates and is divided
by $|R^*(q)|$; the reciprocal rank is that of the first right candidate.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Float
from typing_extensions import Self

from datahub_hyperjoin.evaluate.labelled_lake import ColumnName, Rankings

# Coherence is the share of candidate pairs that join with each other.
#
# The ground truth lists the columns that join with each query column, $R^*(r)$, and nothing about
# other pairs. Columns that join with the same column are assumed to join with one another: two
# columns are coherent if some query column r has both in $\{r\} \cup R^*(r)$. Coherence@K is the
# share of coherent pairs among the first K candidates.
#
# This has two limits. A pair that joins counts as incoherent if no query column joins with both.
# And joining is not always transitive: two columns that are both contained in a third need not
# share a value. Coherence also ignores the query column itself: wrong candidates can be very
# coherent. Read it beside precision.


class JoinedGroups:
    """Groups of columns that join with each other, one group for each query column."""

    def __init__(self, truth: Mapping[ColumnName, frozenset[ColumnName]]) -> None:
        self._groups: defaultdict[ColumnName, set[ColumnName]] = defaultdict(set)
        for query, joining in truth.items():
            for column in (query, *joining):
                self._groups[column].add(query)

    def coherence(self, candidates: Sequence[ColumnName]) -> float:
        """Return the share of candidate pairs whose two columns belong to the same group.

        >>> a, b, c, d = (ColumnName(table, "x") for table in "abcd")
        >>> round(JoinedGroups({a: frozenset({b, c})}).coherence([b, c, d]), 3)
        0.333
        """
        # Not self._groups[...]: a defaultdict would store an empty group for each lookup.
        pairs = [*combinations((self._groups.get(each, set()) for each in candidates), 2)]
        return sum(not left.isdisjoint(right) for left, right in pairs) / max(len(pairs), 1)


CUTOFFS = (5, 15, 25)
"""Values of K at which precision and recall are measured."""
RANKING_LENGTH = max(CUTOFFS)
"""Number of candidates that a method ranks for each query column."""
COHERENCE_CUTOFF = 15
"""Value of K at which coherence is measured."""

QueryScores = Mapping[str, Float[np.ndarray, " query"]]
"""The values of each metric, one per query column."""


def score_rankings(
    truth: Mapping[ColumnName, frozenset[ColumnName]], rankings: Rankings
) -> QueryScores:
    """Compute the quality metrics of a method's rankings.

    >>> gold = [ColumnName("b", "x"), ColumnName("c", "x")]
    >>> from datahub_hyperjoin.evaluate.labelled_lake import RankedColumn
    >>> ranking = [RankedColumn(ColumnName("z", "x"), 0.9), RankedColumn(gold[1], 0.8)]
    >>> query = ColumnName("a", "x")
    >>> scores = score_rankings({query: frozenset(gold)}, {query: ranking})
    >>> {metric: values.round(3).tolist() for metric, values in scores.items() if "5" not in metric}
    {'MAP': [0.25], 'MRR': [0.5]}
    >>> float(scores["P@5"][0]), float(scores["R@5"][0])
    (0.2, 0.5)
    """
    groups = JoinedGroups(truth)
    candidates = [[one for one, _ in rankings.get(query, ())] for query in truth]
    right = np.zeros((len(truth), max([RANKING_LENGTH, *map(len, candidates)])), dtype=bool)
    for row, ranked, gold in zip(right, candidates, truth.values(), strict=True):
        row[: len(ranked)] = [candidate in gold for candidate in ranked]
    sizes, scores = np.array([*map(len, truth.values())]), dict[str, np.ndarray]()
    for cutoff in CUTOFFS:
        hits, possible = right[:, :cutoff].sum(axis=1), np.minimum(cutoff, sizes)
        scores |= {f"P@{cutoff}": hits / cutoff, f"R@{cutoff}": hits / sizes}
        scores |= {
            f"P@{cutoff} ceiling": possible / cutoff,
            f"R@{cutoff} ceiling": possible / sizes,
        }
    ranks = np.arange(1, right.shape[1] + 1)
    scores["MAP"] = (right * right.cumsum(axis=1) / ranks).sum(axis=1) / sizes
    scores["MRR"] = (right / ranks).max(axis=1)
    coherences = [groups.coherence(ranked[:COHERENCE_CUTOFF]) for ranked in candidates]
    return {**scores, f"coherence@{COHERENCE_CUTOFF}": np.array(coherences)}


_DRAWS = 10_000
TAILS = (2.5, 97.5)
"""The percentiles that bound a 95 % interval."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over query columns, with its 95 % confidence interval."""

    mean: float  # the mean over the given query columns
    low: float  # lower bound of the interval
    high: float  # upper bound of the interval

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside the confidence interval."""
        return self.low > 0 or self.high < 0


class Bootstrap:
    """Random samples of the query columns, for bootstrap confidence intervals."""

    # All methods share the samples, so that comparisons are paired.

    def __init__(self, queries: int, *, seed: int = 0, draws: int = _DRAWS) -> None:
        random = np.random.default_rng(seed)
        shares = np.full(queries, 1 / queries)
        # How often each draw holds each query is multinomial, so a mean is one matrix product.
        self._weights = random.multinomial(queries, shares, size=draws) / queries

    def resampled(self, values: Float[np.ndarray, "query ..."]) -> Float[np.ndarray, "draw ..."]:
        """Return the mean of the values in each bootstrap sample."""
        return np.tensordot(self._weights, values, axes=1)

    def interval(
        self,
        values: Float[np.ndarray, " query"],
        ceiling: Float[np.ndarray, " query"] | None = None,
    ) -> Interval:
        """Return the mean of the values, with its confidence interval."""
        # A ratio of means rather than a mean of ratios, so that each query column weighs as in the
        # metric.
        divisors = np.ones_like(values) if ceiling is None else ceiling
        means = self.resampled(values) / self.resampled(divisors)
        low, high = np.percentile(means, TAILS)
        return Interval(float(values.mean() / divisors.mean()), float(low), float(high))


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
    """The binned scores of a method, averaged over the query columns."""

    # Mean of the binned scores over query columns; at least one bin has a candidate.
    whole: Float[np.ndarray, "bin fact"]
    # For each bootstrap draw of query columns, the mean of the binned scores over the draw.
    draws: Float[np.ndarray, "draw bin fact"]

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
        """Return the calibration error of this method minus that of another method."""
        whole = expected_error(self.whole) - expected_error(other.whole)
        return _basic(whole, expected_error(self.draws) - expected_error(other.draws))


def expected_error(binned: Float[np.ndarray, "*draw bin fact"]) -> Float[np.ndarray, "*draw"]:
    """Compute the expected calibration error from binned scores."""
    counts, right, scores = np.moveaxis(binned, -1, 0)
    return np.abs(right - scores).sum(axis=-1) / np.maximum(counts.sum(axis=-1), _LEAST_COUNT)


def _basic(estimate: Float[np.ndarray, ""], draws: Float[np.ndarray, " draw"]) -> Interval:
    """Return the basic bootstrap interval around an estimate."""
    # The percentiles of the draws are mirrored at the estimate: what lies above it by chance is
    # subtracted from it. The interval is extended if necessary to include the estimate.
    low, high = np.percentile(draws, TAILS)
    mean = float(estimate)
    return Interval(mean, min(mean, float(2 * mean - high)), max(mean, float(2 * mean - low)))
