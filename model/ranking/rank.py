"""Compute a coherent ranking of candidates for every key column (paper, section 5)."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float, Float32, Int

from datahub_hyperjoin.joins import Suggestion
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking.calibration import Calibration, calibrate
from datahub_hyperjoin.model.ranking.candidates import find_candidates
from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE
from datahub_hyperjoin.model.ranking.pair_scoring import (
    PairScorer,
    RejectionAwareScorer,
    build_scorer,
)
from datahub_hyperjoin.model.ranking.rerank import select_coherent
from datahub_hyperjoin.model.signals.pairs import PairValues
from datahub_hyperjoin.model.signals.priors import CatalogPriors

_CHUNK = 128
"""Queries ranked at once; memory grows with the number of their candidates."""


@dataclass(frozen=True)
class _Selection:
    """The selected candidates of one query column, best first."""

    query: int
    candidates: Int[np.ndarray, " selected"]
    scores: Float[np.ndarray, " selected"]


def number_duplicates(lake: Lake) -> Int[np.ndarray, " column"]:
    """Assign a number to each column; duplicate columns get the same number.

    Duplicates are columns of the same name in tables with the same columns and sketches.

    Args:
        lake: The columns.

    Returns:
        One number for each column.
    """
    contents = [
        hash(tuple((lake.profiles[c].id.path, lake.profiles[c].sketch) for c in columns))
        for columns in lake.columns_of
    ]
    numbers: dict[tuple[int, str], int] = {}
    return np.array(
        [
            numbers.setdefault((contents[table], profile.id.path), len(numbers))
            for table, profile in zip(lake.table_of, lake.profiles, strict=True)
        ],
        dtype=np.int64,
    )


def _score_pairs(
    scorer: PairScorer, left: Int[np.ndarray, " pair"], right: Int[np.ndarray, " pair"]
) -> Float[np.ndarray, " pair"]:
    if not len(left):
        return np.zeros(0)
    return np.clip(scorer.score(left[:, None], right[:, None])[:, 0, 0], 0.0, 1.0)


def _calibrate(scorer: PairScorer, priors: CatalogPriors) -> Calibration:
    """Fit the calibration to the scores of all accepted and rejected pairs.

    Each pair is scored in both directions, and the higher score counts.
    """

    def probabilities(pairs: PairValues) -> Float[np.ndarray, " pair"]:
        left, right = pairs.left[pairs.once], pairs.right[pairs.once]
        forward, backward = _score_pairs(scorer, left, right), _score_pairs(scorer, right, left)
        return scorer.to_probability(np.maximum(forward, backward))

    return calibrate(probabilities(priors.accepted), probabilities(priors.rejected))


def _score_among(
    scorer: PairScorer,
    candidates: Int[np.ndarray, "query candidate"],
    positions: Int[np.ndarray, " query"],
) -> Float[np.ndarray, "query candidate"]:
    """Score one candidate of each query against all candidates of the same query."""
    selected = np.take_along_axis(candidates, positions[:, None], axis=1)
    return scorer.score(selected, candidates)[:, 0]


def _select(
    index: LakeIndex,
    candidates: Int[np.ndarray, "key candidate"],
    scorer: PairScorer,
    config: ModelConfig,
) -> Iterator[_Selection]:
    """Select, for each key column, candidates that also join with each other."""
    keys, duplicates = index.keys, number_duplicates(index.lake)
    for start in range(0, len(keys), _CHUNK):
        queries, near = keys[start : start + _CHUNK], candidates[start : start + _CHUNK]
        # -1 is a valid NumPy index, so empty positions are scored as well; discard their scores.
        scores = scorer.score(queries[:, None], near)[:, 0]
        scores = np.where(near == NO_CANDIDATE, -np.inf, scores)
        selected = select_coherent(
            scores,
            partial(_score_among, scorer, near),
            count=config.ranking.top_k,
            coherence=config.ranking.coherence,
            duplicates=duplicates[near] if config.setting.defer_duplicates else None,
        )
        for query, row, row_scores, positions in zip(queries, near, scores, selected, strict=True):
            filled = positions[positions != NO_CANDIDATE]
            yield _Selection(int(query), row[filled], np.clip(row_scores[filled], 0.0, 1.0))


def rank(
    index: LakeIndex, embeddings: Float32[np.ndarray, "column width"], config: ModelConfig
) -> Iterator[Suggestion]:
    """Rank the candidates of every key column.

    Accepted pairs are suggested whatever their score, after the selected candidates if they are
    not among them. Rejected pairs are never suggested.

    Args:
        index: The columns with their signals and catalog priors.
        embeddings: One unit vector for each column.
        config: Number, coherence and minimum joinability of suggestions.

    Yields:
        The suggestions of one key column after another, best first.
    """
    ids, priors = index.lake.ids, index.priors
    candidates = find_candidates(index, embeddings, config)
    scorer = build_scorer(index, embeddings, config.ranking.scoring)
    calibration = _calibrate(scorer, priors)
    allowed = RejectionAwareScorer(scorer, priors.rejected)
    for selection in _select(index, candidates, allowed, config):
        query = selection.query
        accepted = priors.accepted.partners(query)
        missing = np.setdiff1d(accepted, selection.candidates)
        missing_scores = _score_pairs(scorer, np.full(len(missing), query), missing)
        suggested = np.concatenate([selection.candidates, missing])
        scores = np.concatenate([selection.scores, missing_scores])
        joinability = calibration.apply(scorer.to_probability(scores))
        kept = joinability >= config.ranking.min_joinability
        kept |= np.isin(suggested, accepted)
        for position, item in enumerate(np.flatnonzero(kept), start=1):
            yield Suggestion(
                query=ids[query],
                candidate=ids[suggested[item]],
                rank=position,
                joinability=float(joinability[item]),
            )
