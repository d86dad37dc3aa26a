"""Rank the candidates of each key column coherently (paper, section 5)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from operator import attrgetter

import numpy as np
from jaxtyping import Bool, Float, Int

from datahub_hyperjoin.joins import BANDS, Suggestion
from datahub_hyperjoin.model.config import ModelConfig, Scoring
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking.candidates import Note, find_candidates, note_nothing
from datahub_hyperjoin.model.ranking.decision_scoring import (
    DecidedPairs,
    DecisionAwareScorer,
    correct_with_decisions,
)
from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE, KeyCandidates
from datahub_hyperjoin.model.ranking.pair_features import log_odds
from datahub_hyperjoin.model.ranking.pair_scoring import (
    PairScorer,
    RejectionAwareScorer,
    build_scorer,
    score_pairs,
)
from datahub_hyperjoin.model.ranking.tree_scoring import correct_with_trees
from datahub_hyperjoin.model.signals.pairs import (
    ColumnInts,
    PairFloats,
    PairInts,
    SomeInts,
    Vectors,
    chunks,
    number_distinct,
    values_at,
)

# The selection grows a maximum spanning tree greedily.


PairwiseScores = Callable[[PairInts, PairInts, PairInts], PairFloats]
"""A function that scores joins between two candidates of one query, in [0, 1]. Its arguments
contain, for each pair, the query and the positions of the selected and of the other candidate."""

_Queries = Int[np.ndarray, " query"]
_Near = Int[np.ndarray, "query candidate"]
_Gains = Float[np.ndarray, "query candidate"]
_Mask = Bool[np.ndarray, "query candidate"]


def select_coherent(
    relevance: _Gains,
    score_among: PairwiseScores,
    *,
    count: int,
    coherence: float,
    duplicates: _Near | None = None,
    own: _Queries | None = None,
) -> Int[np.ndarray, "query rank"]:
    """For each query, select candidates that join with the query and with each other."""
    # For all queries in parallel, a step takes the candidate with the greatest gain (equation 19),
    # Δ(C) = w(C_q, C) + λ max w(C, C') over C' in S = {C_q, selected}. Scores among candidates are
    # computed only for selected ones, and only with those that may still be selected. Of
    # `duplicates`, the second is selected when no other candidate is left, and so are those of the
    # query (`own`).
    queries, candidates = relevance.shape
    rows = np.arange(queries)
    available = np.isfinite(relevance)
    relevance = np.where(available, relevance, 0.0)
    # Greatest score with the query or a selected candidate. The query belongs to S from the start.
    attachment = relevance.copy()
    repeated = np.zeros((queries, candidates), dtype=bool)
    if duplicates is not None and own is not None:
        repeated |= duplicates == own[:, None]
    selected = np.full((queries, count), NO_CANDIDATE, dtype=np.int64)
    steps = min(count, candidates)
    for step in range(steps):
        gain = _gain(relevance + coherence * attachment, available, repeated, coherence)
        best = gain.argmax(axis=1)
        left = available[rows, best]
        selected[left, step] = best[left]
        available[rows, best] = False
        if duplicates is not None:
            repeated |= duplicates == duplicates[rows, best][:, None]
        if coherence and step + 1 < count:
            gain = _gain(relevance + coherence * attachment, available, repeated, coherence)
            enough = _sure_gain(gain, duplicates, steps - step - 1)
            # A score is at most 1, so no other candidate can reach what is sure already.
            query, other = np.nonzero(available & (relevance + coherence >= enough[:, None]))
            scores = score_among(query, best[query], other)
            attachment[query, other] = np.maximum(attachment[query, other], scores)
    return selected


def _gain(gain: _Gains, available: _Mask, repeated: _Mask, coherence: float) -> _Gains:
    """Penalise repeated candidates, and exclude those that are not available."""
    # Gains lie in [0, 1 + coherence], so a penalty of twice that puts duplicates last.
    return np.where(available, np.where(repeated, gain - 2 * (1 + coherence), gain), -np.inf)


def _sure_gain(gain: _Gains, duplicates: _Near | None, steps: int) -> Float[np.ndarray, " query"]:
    """For each query, return a gain that each of the next `steps` selections reaches."""
    # As many candidates, no two of them duplicates, have this gain. It never falls, and an earlier
    # selection takes or defers one of them only, so that one is left in each step.
    rows, gain = np.arange(len(gain)), gain.copy()
    reached = np.full(len(gain), -np.inf)
    for _ in range(steps):
        best = gain.argmax(axis=1)
        reached = gain[rows, best]
        if duplicates is not None:
            gain[duplicates == duplicates[rows, best][:, None]] = -np.inf
        gain[rows, best] = -np.inf
    return reached


_CHUNK = 128
"""Number of query columns that are ranked at once; memory grows with the number of their
candidates."""

_BLOCK = 8192
"""Number of query columns that are divided into chunks by their numbers of candidates."""


_LEVEL = 0.5
"""Difference of log-odds below which two scores are mostly equal; further tables change scores by a
fifth of it at most."""


@dataclass(frozen=True)
class _Selection:
    """The selected candidates of one query column, best first."""

    query: int
    candidates: Int[np.ndarray, " selected"]
    scores: Float[np.ndarray, " selected"]


def number_duplicates(lake: Lake) -> ColumnInts:
    """Give each column a number; duplicate columns get the same number."""
    # Duplicates have one name, in tables with the same columns and sketches.
    contents = [
        # A column without a sketch may hold anything, so the table's number sets it apart.
        hash(tuple((lake.paths[c], lake.profiles[c].sketch or table) for c in columns))
        for table, columns in enumerate(lake.columns_of)
    ]
    owners = zip(lake.table_of, lake.paths, strict=True)
    return number_distinct((contents[table], path) for table, path in owners)[1]


def steady(
    index: LakeIndex, scores: _Gains, left: Int[np.ndarray, "query 1"], right: _Near
) -> _Gains:
    """Round scores to levels, and order the pairs of a level by facts about their columns alone."""
    # The scores also depend on all other tables of the lake. If they alone decided between nearly
    # equal candidates, each table that is added would replace some of the best joins by others.
    left, right = np.broadcast_arrays(left, right)
    there = index.overlap.locate(left, right)
    back = index.overlap.reverse_at(there)
    held = values_at(index.overlap.containment, there), values_at(index.overlap.containment, back)
    ochiai = index.overlap.ochiai_at(there, back)
    place = index.lake.place_of
    likeness = np.maximum(*held) + ochiai + index.names.of(left, right)
    likeness = (likeness + (place[left] == place[right])) / 4
    level = np.rint(log_odds(np.clip(scores, 0.0, 1.0)) / _LEVEL) + 0.9 * (likeness - 0.5)
    return 1 / (1 + np.exp(-_LEVEL * level))


def _trim(candidates: _Near) -> Int[np.ndarray, "query fewer"]:
    """Drop the positions at the end that no query fills."""
    filled = np.flatnonzero((candidates != NO_CANDIDATE).any(axis=0))
    return candidates[:, : int(filled.max(initial=0)) + 1]


@dataclass(frozen=True)
class Ranker:
    """Everything that is needed to score and select the candidates of a lake's key columns."""

    index: LakeIndex
    config: ModelConfig
    # Candidates of each key column; `NO_CANDIDATE` fills the remaining positions.
    candidates: KeyCandidates
    signals: PairScorer  # the scorer that combines all signals
    # The scorer that corrects the scores of `signals` with the trees and the pair network.
    corrected: PairScorer
    # The scorer that adjusts the scores from `corrected` to decisions about relatives, such as the
    # same columns of a sibling table. It selects and scores candidates.
    scorer: PairScorer
    # The scorer that adjusts them to decisions about all similar pairs, and orders what is
    # selected. None if people decided nothing.
    orders: PairScorer | None = None
    decided: DecidedPairs | None = None

    @classmethod
    def of(
        cls, index: LakeIndex, embeddings: Vectors, config: ModelConfig, note: Note = note_nothing
    ) -> "Ranker":
        """Build a ranker: find the candidates of all key columns, and prepare the scorers."""
        priors = index.priors
        candidates = find_candidates(index, embeddings, config, note)
        # Decisions shift the features that the trees and the network read, in ways that these never
        # saw in training. So only the last correction knows the decisions.
        unaware = index.with_decisions(priors.without_decisions()) if priors.is_decided else index
        signals, method = build_scorer(unaware, embeddings, config.ranking.scoring), config.setting
        corrected = signals
        if method.tree_correction:
            by_network = method.network_correction
            corrected = correct_with_trees(signals, unaware, candidates, by_network=by_network)
        found = cls(index, config, candidates, signals, corrected, scorer=corrected)
        if not priors.is_decided:
            return found
        decided = DecidedPairs.from_priors(priors, corrected)
        if not method.decision_effects:
            return replace(found, decided=decided)
        scorer, orders = correct_with_decisions(corrected, decided, unaware, candidates)
        return replace(found, scorer=scorer, orders=orders, decided=decided)

    def select(self) -> Iterator[_Selection]:
        """For each key column in turn, yield the best candidates."""
        duplicates = number_duplicates(self.index.lake)
        for block in chunks(len(self.index.keys), _BLOCK):
            keys, near = self.index.keys[block], self.candidates[block]
            # Empty positions are scored, too; they are few if all queries of a chunk have about as
            # many candidates.
            by_width = np.argsort((near != NO_CANDIDATE).sum(axis=1), kind="stable")
            parts = np.split(by_width, range(_CHUNK, len(by_width), _CHUNK))
            found = (self._select(keys[part], _trim(near[part]), duplicates) for part in parts)
            yield from sorted(chain.from_iterable(found), key=attrgetter("query"))

    def _select(
        self, queries: _Queries, near: _Near, duplicates: ColumnInts
    ) -> Iterator[_Selection]:
        """For each key column, select candidates that join with it and with each other."""
        near, config = near.astype(np.int64), self.config
        signals = self._aware(self.signals)

        def score_among(query: PairInts, selected: PairInts, other: PairInts) -> PairFloats:
            ends = near[query, selected][:, None], near[query, other][:, None]
            return signals.score(*ends)[:, 0, 0].round(2)

        select = partial(
            select_coherent,
            score_among=score_among,
            count=config.ranking.top_k,
            coherence=config.ranking.coherence,
            duplicates=duplicates[near] if config.setting.defer_duplicates else None,
            own=duplicates[queries],
        )
        scores = self._score(self.scorer, queries, near)
        # A relative that a rejection lowers leaves its place to no weaker candidate.
        best = (
            np.maximum(scores, self._score(self.corrected, queries, near))
            if self.orders
            else scores
        )
        relevance = self._level(best, queries, near)
        selected = select(np.where(near == NO_CANDIDATE, -np.inf, relevance))
        if self.orders:
            # What decisions tell of unrelated pairs brings no candidate in and drops none.
            others = np.ones(near.shape, dtype=bool)
            rows, ranks = np.nonzero(selected != NO_CANDIDATE)
            others[rows, selected[rows, ranks]] = False
            relevance = self._level(self._score(self.orders, queries, near), queries, near)
            selected = select(np.where(others, -np.inf, relevance))
        for query, row, row_scores, positions in zip(queries, near, scores, selected, strict=True):
            filled = positions[positions != NO_CANDIDATE]
            yield _Selection(int(query), row[filled], np.clip(row_scores[filled], 0.0, 1.0))

    def _aware(self, scorer: PairScorer) -> PairScorer:
        return RejectionAwareScorer(scorer, self.index.priors.rejected)

    def _score(self, scorer: PairScorer, queries: _Queries, near: _Near) -> _Gains:
        # -1 is a valid NumPy index, so empty positions are scored as well; discard their scores.
        return self._aware(scorer).score(queries[:, None], near)[:, 0]

    def _level(self, scores: _Gains, queries: _Queries, near: _Near) -> _Gains:
        """Return what the selection of candidates goes by."""
        if self.config.ranking.scoring is not Scoring.SIGNALS:
            return scores  # A network is another one for each lake.
        return steady(self.index, scores, queries[:, None], near)

    def count_related(self, query: int, candidates: SomeInts) -> list[tuple[int, int]]:
        """For each candidate, count the accepted and rejected pairs whose relative it is."""
        if isinstance(self.scorer, DecisionAwareScorer):
            return self.scorer.count_related(query, candidates)
        return [(0, 0)] * len(candidates)

    def probability(self, scores: PairFloats) -> PairFloats:
        """Convert scores to calibrated probabilities of a join."""
        likely = self.scorer.to_probability(scores)
        limits = (self.config.ranking.min_joinability, *BANDS.values())
        return self.decided.calibrate(likely, limits) if self.decided else likely


def rank(
    index: LakeIndex, embeddings: Vectors, config: ModelConfig, note: Note = note_nothing
) -> Iterator[Suggestion]:
    """Rank the candidates of each key column, and yield the suggestions."""
    ids, priors = index.lake.ids, index.priors
    ranker = Ranker.of(index, embeddings, config, note)
    for selection in ranker.select():
        query = selection.query
        accepted = priors.accepted.partners(query)
        # Accepted pairs are suggested whatever their score.
        missing = np.setdiff1d(accepted, selection.candidates)
        missing_scores = score_pairs(ranker.scorer, np.full(len(missing), query), missing)
        suggested = np.concatenate([selection.candidates, missing])
        joinability = ranker.probability(np.concatenate([selection.scores, missing_scores]))
        kept = joinability >= config.ranking.min_joinability
        kept |= np.isin(suggested, accepted)
        told = ranker.count_related(query, suggested)
        for position, item in enumerate(np.flatnonzero(kept), start=1):
            yield Suggestion(
                query=ids[query],
                candidate=ids[suggested[item]],
                rank=position,
                joinability=float(joinability[item]),
                told=told[item],
            )
