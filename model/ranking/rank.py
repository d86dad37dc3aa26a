"""From embeddings to a coherent top-K for every key column (paper, section 5)."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from jaxtyping import Float, Float32, Int

from datahub_hyperjoin.model.config import RankingConfig
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.ranking.calibration import Calibration, calibrate
from datahub_hyperjoin.model.ranking.candidates import find_candidates
from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE
from datahub_hyperjoin.model.ranking.pair_scoring import AllowedScorer, PairScorer, build_scorer
from datahub_hyperjoin.model.ranking.rerank import select_coherent
from datahub_hyperjoin.model.signals.priors import CatalogPriors, PairValues
from datahub_hyperjoin.tables import Suggestion

_CHUNK = 128
"""Queries ranked at once; memory grows with their candidates."""


def number_duplicates(lake: Lake) -> Int[np.ndarray, " column"]:
    """Numbers that the same column of exact copies of a table shares.

    Args:
        lake: The columns.

    Returns:
        One number a column.
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


def _score(
    weight: PairScorer, one: Int[np.ndarray, " pair"], other: Int[np.ndarray, " pair"]
) -> Float[np.ndarray, " pair"]:
    if not len(one):
        return np.zeros(0)
    return np.clip(weight.between(one[:, None], other[:, None])[:, 0, 0], 0.0, 1.0)


def _learn_scale(weight: PairScorer, known: CatalogPriors) -> Calibration:
    """Calibrates by decided pairs, each scored in the better of both directions."""

    def scores(pairs: PairValues) -> Float[np.ndarray, " pair"]:
        one, other = pairs.left[pairs.once], pairs.right[pairs.once]
        better = np.maximum(_score(weight, one, other), _score(weight, other, one))
        return weight.probability(better)

    return calibrate(scores(known.accepted), scores(known.rejected))


def _weigh_among(
    weight: PairScorer,
    near: Int[np.ndarray, "query candidate"],
    places: Int[np.ndarray, " query"],
) -> Float[np.ndarray, "query candidate"]:
    return weight.between(np.take_along_axis(near, places[:, None], axis=1), near)[:, 0]


def _choose(
    structure: LakeIndex,
    candidates: Int[np.ndarray, "key candidate"],
    weight: PairScorer,
    config: RankingConfig,
) -> Iterator[tuple[int, Int[np.ndarray, " chosen"], Float[np.ndarray, " chosen"]]]:
    """Each key, the coherent ones among its candidates, best first, and their scores."""
    keys, twins = structure.keys, number_duplicates(structure.lake)
    for start in range(0, len(keys), _CHUNK):
        queries, near = keys[start : start + _CHUNK], candidates[start : start + _CHUNK]
        relevance = weight.between(queries[:, None], near)[:, 0]
        relevance = np.where(near == NO_CANDIDATE, -np.inf, relevance)
        picked = select_coherent(
            relevance,
            partial(_weigh_among, weight, near),
            count=config.top_k,
            coherence=config.coherence,
            twins=twins[near] if config.hold_copies else None,
        )
        for query, row, scores, places in zip(queries, near, relevance, picked, strict=True):
            found = places[places != NO_CANDIDATE]
            yield int(query), row[found], np.clip(scores[found], 0.0, 1.0)


def rank(
    structure: LakeIndex,
    embeddings: Float32[np.ndarray, "column width"],
    config: RankingConfig,
) -> Iterator[Suggestion]:
    """Ranks every key column's candidates.

    What people accepted is kept whatever its score, and follows the candidates chosen if it is
    not among them; what they rejected never appears.

    Args:
        structure: The lake.
        embeddings: Its columns' unit vectors.
        config: How many suggestions, how coherent, how good at least.

    Yields:
        The suggestions of one key after another, best first.
    """
    ids, known = structure.lake.ids, structure.known
    candidates = find_candidates(structure, embeddings, config)
    weight = build_scorer(structure, embeddings, config.affinity)
    scale = _learn_scale(weight, known)
    allowed = AllowedScorer(weight, known.rejected)
    for query, chosen, scores in _choose(structure, candidates, allowed, config):
        accepted = known.accepted.partners(query)
        missing = np.setdiff1d(accepted, chosen)
        found = np.concatenate([chosen, missing])
        raw = np.concatenate([scores, _score(weight, np.full(len(missing), query), missing)])
        joinability = scale.of(weight.probability(raw))
        good = (joinability >= config.min_joinability) | np.isin(found, accepted)
        for place, at in enumerate(np.flatnonzero(good), start=1):
            yield Suggestion(
                query=ids[query],
                candidate=ids[found[at]],
                rank=place,
                joinability=float(joinability[at]),
            )
