"""Correct scores with people's decisions: on the same pairs, on similar pairs, and on all pairs.

A score measures the evidence for a join; decisions show how often that evidence suffices in this
catalog.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Float32, Int
from scipy import sparse
from scipy.special import expit, logit

from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE, KeyCandidates
from datahub_hyperjoin.model.ranking.pair_features import PAIR_FEATURES
from datahub_hyperjoin.model.ranking.pair_scoring import (
    Lefts,
    PairScorer,
    Rights,
    Scores,
    score_pairs,
)
from datahub_hyperjoin.model.ranking.tree_scoring import TreeScorer
from datahub_hyperjoin.model.signals.cells import scale_rows
from datahub_hyperjoin.model.signals.pairs import (
    ColumnInts,
    Floats,
    Ints,
    KeyInts,
    PairFloats,
    PairMask,
    SomeInts,
    chunks,
)
from datahub_hyperjoin.model.signals.priors import CatalogPriors

_Pairs = Int[np.ndarray, "pair 2"]
_Others = Int[np.ndarray, " other"]
_Similarity = Float32[np.ndarray, "column other"]
_Related = Bool[np.ndarray, "column other"]

_SLOPE, _OFFSET = 0.03, 0.07
"""Standard deviations of the priors of the slope (mean 1) and the offset (mean 0). Even a
surprising decision moves the offset by at most the variance, 0.005: thirty decisions that agree
move a score by less than 0.05."""
_FLATTEST = 0.2
"""Smallest slope. A flatter map would give all joins nearly the same score, and a falling map would
reverse their order."""
_EDGE = 1e-6
"""Scores are clipped to this distance from 0 and 1, where log odds are unbounded."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A monotone map that turns a score into a joinability."""

    slope: float = 1.0  # the factor a in the formula above
    offset: float = 0.0  # the summand b in the formula above

    def apply(self, scores: Floats) -> Floats:
        """Convert scores to joinabilities.

        >>> Calibration(offset=-1.0).apply(np.array([0.5, 0.9])).round(2).tolist()
        [0.27, 0.77]
        """
        if self == Calibration():
            return scores
        return expit(self.slope * _bounded_logit(scores) + self.offset)


def _bounded_logit(scores: Floats) -> Floats:
    """Return the log-odds of scores, limited to the range from -13.8 to 13.8."""
    return logit(np.clip(scores, _EDGE, 1 - _EDGE))


def calibrate(
    accepted: Float[np.ndarray, " accepted"], rejected: Float[np.ndarray, " rejected"]
) -> Calibration:
    """Fit a calibration to the scores of accepted and rejected pairs.

    >>> calibrate(np.array([]), np.array([]))
    Calibration(slope=1.0, offset=0.0)
    >>> bool(calibrate(np.array([]), np.array([0.9])).apply(np.array([0.9]))[0] < 0.9)
    True
    """
    # It is the most probable map under a Gaussian prior around the identity, so that few decisions
    # change little. Platt's targets short of 0 and 1 serve the same purpose and are not needed with
    # this prior. The cost is strictly convex and has one minimum.
    if not len(accepted) + len(rejected):
        return Calibration()
    # Its import takes a tenth of a second, and most runs have no decisions.
    from scipy.optimize import Bounds, minimize  # noqa: PLC0415

    odds = _bounded_logit(np.concatenate([accepted, rejected]))
    # One sign for both sides: z(s) should be high for accepted pairs and low for rejected ones.
    sign = np.repeat([1.0, -1.0], [len(accepted), len(rejected)])
    start = np.array([1.0, 0.0])
    bounds = Bounds([_FLATTEST, -np.inf], [np.inf, np.inf])
    fit = minimize(_cost, start, (odds, sign), jac=True, method="L-BFGS-B", bounds=bounds)
    return Calibration(slope=float(fit.x[0]), offset=float(fit.x[1]))


def _cost(
    point: Float[np.ndarray, "2"],
    odds: Float[np.ndarray, " decision"],
    sign: Float[np.ndarray, " decision"],
) -> tuple[float, Float[np.ndarray, "2"]]:
    """Return the cost that `calibrate` minimises, and the cost's gradient, at one point."""
    slope, offset = point
    margin = sign * (slope * odds + offset)
    residual = -sign * expit(-margin)
    deviation = np.array([(slope - 1) / _SLOPE, offset / _OFFSET])
    gradient = np.array([residual @ odds, residual.sum()]) + deviation / [_SLOPE, _OFFSET]
    return float(np.logaddexp(0, -margin).sum() + deviation @ deviation / 2), gradient


@dataclass(frozen=True)
class DecidedPairs:
    """All pairs that people accepted or rejected, with their scores."""

    pairs: _Pairs  # the columns of each pair, by index
    accepted: PairMask  # whether each pair was accepted; the others were rejected
    # Probability of each pair before calibration, in the better of its two orders.
    probability: PairFloats

    @classmethod
    def from_priors(cls, priors: CatalogPriors, unaware: PairScorer) -> "DecidedPairs":
        """Score accepted and rejected pairs with `unaware`, a scorer that knows no decisions."""
        decided = [
            np.column_stack([pairs.left[pairs.once], pairs.right[pairs.once]])
            for pairs in (priors.accepted, priors.rejected)
        ]
        pairs = np.vstack(decided)
        left, right = pairs.T
        # People decide on a pair, not on one of its directions.
        scores = np.maximum(score_pairs(unaware, left, right), score_pairs(unaware, right, left))
        return cls(
            pairs=pairs,
            accepted=np.arange(len(pairs)) < len(decided[0]),
            probability=unaware.to_probability(scores),
        )

    def calibrate(self, scores: PairFloats, limits: Sequence[float]) -> PairFloats:
        """Convert scores to joinabilities, which stay on their side of each limit."""
        # A limit decides whether a join is listed, or followed by agents. What is known of all
        # pairs must not decide about one.
        found = self.calibration.apply(scores)
        for limit in limits:
            below = np.nextafter(limit, 0.0)
            found = np.where(scores < limit, np.minimum(found, below), np.maximum(found, limit))
        return found

    @cached_property
    def calibration(self) -> Calibration:
        """The calibration that fits the decisions best; without decisions, the identity."""
        return calibrate(self.probability[self.accepted], self.probability[~self.accepted])


# Signals that mislead the score for one pair, such as a shared range of numbers, mislead it for
# many pairs of the same lake. A decision is therefore evidence about all pairs with similar
# features.

_COMPARED = PAIR_FEATURES.index("difference of rows") + 1
"""Number of features that describe a pair; the others describe its columns one by one."""
_LENGTH = 3.0
"""Distance of features, in standard deviations, at which the similarity of two pairs has fallen to
0.61."""
_SAMPLE = 128
"""Number of key columns on whose candidates the standard deviations of features are measured."""
_FARTHEST = 4.0
"""Maximum distance of a feature from its mean, in standard deviations. Outliers are clipped to it,
since a single feature would otherwise decide the similarity."""


class PairKinds:
    """How similar any pair of columns is to each decided pair, on a scale from 0 to 1."""

    # The similarity is a squared exponential of the distance between standardised features
    # (Rasmussen and Williams, 2006, equation 4.9). The scorer must not know the decisions.

    def __init__(
        self, scorer: TreeScorer, decided: _Pairs, keys: KeyInts, candidates: KeyCandidates
    ) -> None:
        self._scorer = scorer
        every = slice(None, None, len(keys) // _SAMPLE + 1)
        _, features = scorer.score_and_describe(keys[every, None], candidates[every])
        sample = features[:, 0, :, :_COMPARED][candidates[every] != NO_CANDIDATE]
        self._mean = sample.mean(axis=0)
        self._deviation = np.maximum(sample.std(axis=0), 1e-6)
        left, right = decided.T
        forth, one_way = scorer.score_and_describe(left[:, None], right[:, None])
        back, other_way = scorer.score_and_describe(right[:, None], left[:, None])
        # People decide on a pair, not on one of its orders, so the order that scores higher counts.
        better = np.where((forth >= back)[..., None], one_way, other_way)
        self._decided = self._standardise(better[:, 0, 0])

    def score_and_compare(
        self, left: Lefts, right: Rights
    ) -> tuple[Scores, Float32[np.ndarray, "query l r pair"]]:
        """Score pairs of columns, and compare each pair with the decided pairs."""
        scores, features = self._scorer.score_and_describe(left, right)
        return scores, self._compare(self._standardise(features))

    def among(self) -> Float32[np.ndarray, "pair pair"]:
        """Compute the similarity of the decided pairs to each other."""
        return self._compare(self._decided)

    def _standardise(
        self, features: Float32[np.ndarray, "*shape feature"]
    ) -> Float32[np.ndarray, "*shape compared"]:
        standardised = (features[..., :_COMPARED] - self._mean) / self._deviation
        return np.clip(standardised, -_FARTHEST, _FARTHEST)

    def _compare(
        self, features: Float32[np.ndarray, "*shape compared"]
    ) -> Float32[np.ndarray, "*shape pair"]:
        # |a - b|² = |a|² + |b|² - 2 a·b, which needs no array of all differences.
        decided = self._decided
        squares = (features**2).sum(axis=-1)[..., None] + (decided**2).sum(axis=-1)
        distance = np.maximum(squares - 2 * features @ decided.T, 0.0)
        return np.exp(distance / (-2 * _LENGTH**2))


_RELATED, _ONE_NAME = 0.85, 0.99
"""Minimum similarity, and minimum similarity of names alone, of columns that are related. A pair is
a relative of a decided pair if both columns are related to those of that pair."""
_CHUNK = 128
"""Number of columns that are compared, or whose candidates are scored, at once."""


def _compare_columns(
    index: LakeIndex, joined: sparse.csr_array, others: _Others
) -> tuple[_Similarity, _Related]:
    """Compare all columns of the lake with some: how similar are they, and are they related?"""
    # Columns are similar in their names and cells, or if they probably join with the same columns.
    # For a text and a column of another type, only the joins count. Squares, so that many weak
    # joins do not outweigh a strong one.
    partners = scale_rows(joined.multiply(joined).tocsr())
    columns = np.arange(len(index.lake))
    blocks = chunks(len(columns), _CHUNK)
    found = (_compare(index, partners, columns[some], others) for some in blocks)
    similarity, related = map(np.vstack, zip(*found, strict=True))
    itself = others, np.arange(len(others))
    similarity[itself], related[itself] = 1.0, True
    return similarity, related


def _compare(
    index: LakeIndex, partners: sparse.csr_array, columns: ColumnInts, others: _Others
) -> tuple[_Similarity, _Related]:
    text, other_text = index.lake.is_text[columns][:, None], index.lake.is_text[others][None]
    names = index.names.between(columns, others)
    cells = index.cells.between(columns[None], others[None])[0]
    # Cells of numbers share digits by chance.
    by_spelling = (text == other_text) * (names + text * cells) / 2
    by_partners = (partners[columns] @ partners[others].T).toarray()
    similarity = np.maximum(by_spelling, by_partners).astype(np.float32)
    # Of one name, or of one value domain.
    return similarity, ((names >= _ONE_NAME) & (text == other_text)) | (similarity >= _RELATED)


def _score_candidates(
    scorer: PairScorer, columns: int, keys: KeyInts, candidates: KeyCandidates
) -> sparse.csr_array:
    """Compute the probability that each key column joins with each of its candidates."""
    scores = np.zeros(candidates.shape)
    for some in chunks(len(keys), _CHUNK):
        scores[some] = scorer.score(keys[some, None], candidates[some])[:, 0]
    rows, positions = np.nonzero(candidates != NO_CANDIDATE)
    values = scorer.to_probability(np.clip(scores[rows, positions], 0.0, 1.0))
    ends = (keys[rows], candidates[rows, positions])
    one_way = sparse.csr_array((values, ends), (columns, columns))
    both_ways = one_way.maximum(one_way.T)
    return both_ways.maximum(sparse.eye_array(columns)).tocsr()


# The log-odds of a join are those of the score plus a Gaussian process over pairs: a decision that
# surprises the score moves similar pairs in the same direction (Rasmussen and Williams, 2006,
# section 3.4).

_STEPS = 50
"""Maximum number of Newton steps; a handful is usual."""
_CLOSE = 1e-6
"""Change of log-odds below which Newton's method ends."""


def fit_process(
    covariance: Float[np.ndarray, "pair pair"], prior: PairFloats, accepted: PairMask
) -> PairFloats:
    """Fit a Gaussian process to decisions, and return the weight of each decision.

    >>> fit_process(np.eye(2), np.zeros(2), np.array([True, False])).round(2).tolist()
    [0.4, -0.4]
    """
    # The posterior of the log-odds of any pair x is m(x) + Σ k(x, x_i) w_i with the weights
    # w = t - expit(m + K w), found by Newton's method (algorithm 3.1). K is the covariance, and t
    # tells which pairs were accepted. Negative eigenvalues of K count as 0.
    values, vectors = np.linalg.eigh(covariance)
    known = (vectors * np.maximum(values, 0.0)) @ vectors.T

    def log_posterior(weights: PairFloats) -> float:
        effect = known @ weights
        margin = np.where(accepted, 1.0, -1.0) * (prior + effect)
        return -float(np.logaddexp(0.0, -margin).sum() + weights @ effect / 2)

    weights = np.zeros(len(prior))
    for _ in range(_STEPS):
        effect = known @ weights
        probability = expit(prior + effect)
        curvature = np.maximum(probability * (1 - probability), _CLOSE)
        root = np.sqrt(curvature)
        target = curvature * effect + accepted - probability
        system = np.eye(len(prior)) + root[:, None] * known * root
        step = target - root * np.linalg.solve(system, root * (known @ target)) - weights
        # A whole step overshoots where the scores were sure of the opposite.
        while (
            log_posterior(weights + step) < log_posterior(weights) and np.abs(step).max() > _CLOSE
        ):
            step = step / 2
        weights = weights + step
        if np.abs(known @ step).max(initial=0.0) < _CLOSE:
            break
    return accepted - expit(prior + known @ weights)


_VARIANCE = 1.5**2
"""Prior variance of the correction from decisions about equal columns, in log-odds."""
_KIND_VARIANCE = 1.0
"""Prior variance of the correction from decisions about pairs with equal features, in log-odds."""
_MOST = 500
"""Maximum number of decisions that the scorer uses, because each one takes memory for every column.
The scorer prefers the decisions that contradict its uncorrected scores most."""


@dataclass(frozen=True)
class DecisionAwareScorer(PairScorer):
    """A scorer that corrects another scorer with people's decisions about similar pairs."""

    scorer: PairScorer
    similarity: _Similarity  # of all columns to those of decided pairs
    related: _Related  # whether they have one name with these, or are of one value domain
    decided: _Pairs  # the decided pairs, by the positions of these columns
    kinds: PairKinds | None
    weights: PairFloats  # the weight of each decision
    accepted: PairMask  # whether each pair was accepted
    only_related: bool = False  # whether only relatives of decided pairs are corrected

    def count_related(self, query: int, candidates: SomeInts) -> list[tuple[int, int]]:
        """For each candidate, count the accepted and rejected pairs whose relative it is."""
        first, second = self.related[query], self.related[candidates]
        one, other = self.decided.T
        both = (first[one] & second[:, other]) | (first[other] & second[:, one])
        counts = (
            both[:, chosen].sum(axis=1).tolist() for chosen in (self.accepted, ~self.accepted)
        )
        return [*zip(*counts, strict=True)]

    def score(self, left: Lefts, right: Rights) -> Scores:
        """Score pairs by the wrapped scorer, corrected by the decisions about similar pairs."""
        first, second, weights = self._compare(left), self._compare(right), self.weights
        by_column, (one, other) = (weights * _VARIANCE).astype(np.float32), self.decided.T
        # A pair has no order, so its columns are compared with those of a decided pair both ways.
        straight = (first[..., one] * by_column) @ second[..., other].swapaxes(1, 2)
        crossed = (first[..., other] * by_column) @ second[..., one].swapaxes(1, 2)
        by_columns = straight + crossed
        if self.kinds is None:
            own = self.scorer.score(left, right)
            # To the last bit, what no decision is about stays as it is.
            return np.where(by_columns == 0, own, expit(_bounded_logit(own) + by_columns))
        own, similar = self.kinds.score_and_compare(left, right)
        by_kind = (weights * _KIND_VARIANCE).astype(np.float32)
        return expit(_bounded_logit(own) + by_columns + similar @ by_kind)

    def to_probability(self, scores: Floats) -> Floats:
        """Convert scores to probabilities in the same way as the wrapped scorer."""
        return self.scorer.to_probability(scores)

    def _compare(self, columns: Ints) -> Float32[np.ndarray, "*shape other"]:
        similarity = self.similarity[columns]
        return similarity * self.related[columns] if self.only_related else similarity


def correct_with_decisions(
    scorer: PairScorer, decided: DecidedPairs, index: LakeIndex, candidates: KeyCandidates
) -> tuple[DecisionAwareScorer, DecisionAwareScorer]:
    """Return scorers that correct `scorer` with people's decisions: for relatives, for all pairs.

    The relatives of a decided pair have its names, or are of the same value domains.
    """
    # `scorer` must not know the decisions: a score that a decision has moved already would seem to
    # be no surprise.
    probability = decided.calibration.apply(decided.probability)
    surprise = np.argsort(-np.abs(decided.accepted - probability), kind="stable")[:_MOST]
    pairs, accepted = decided.pairs[surprise], decided.accepted[surprise]
    columns, places = np.unique(pairs, return_inverse=True)
    places = places.reshape(pairs.shape)
    joined = _score_candidates(scorer, len(index.lake), index.keys, candidates)
    similarity, related = _compare_columns(index, joined, columns)
    among = similarity[columns].astype(np.float64)
    one, other = places.T
    straight = among[np.ix_(one, one)] * among[np.ix_(other, other)]
    crossed = among[np.ix_(one, other)] * among[np.ix_(other, one)]
    covariance = _VARIANCE * (straight + crossed)
    # Only trees read features of pairs.
    kinds = None
    if isinstance(scorer, TreeScorer):
        kinds = PairKinds(scorer, pairs, index.keys, candidates)
        covariance = covariance + _KIND_VARIANCE * kinds.among()
    weights = fit_process(covariance, _bounded_logit(probability[surprise]), accepted)
    every = DecisionAwareScorer(scorer, similarity, related, places, kinds, weights, accepted)
    return replace(every, only_related=True, kinds=None), every
