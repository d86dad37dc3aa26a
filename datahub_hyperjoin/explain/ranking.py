"""Explain the score and the rank of a pair."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from datahub_hyperjoin.model.ranking.candidates import candidate_sources
from datahub_hyperjoin.model.ranking.nearest import NO_CANDIDATE
from datahub_hyperjoin.model.ranking.pair_scoring import (
    NoisyOrScorer,
    PairScorer,
    PairSignals,
    probabilities_by_signal,
    score_pairs,
)
from datahub_hyperjoin.model.ranking.rank import Ranker
from datahub_hyperjoin.suggest import LakeComparison
from datahub_hyperjoin.tables import ColumnId

SOURCES = {
    "containment": "values, of which the profiles keep hashes",
    "ochiai": "values, of which the profiles keep hashes",
    "cells": "spelling of the values in the samples",
    "names": "names of the columns",
    "cosine": "network that was trained on the lake",
    "lookup": "values of the first column in the second, where these are unique",
    "location": "values, and one folder or schema",
    "entities": "standard codes and names, and crosswalks",
    "related": "references to keys, for columns that are not both text",
    "catalog": "foreign keys, relationships and queries",
}
"""For each signal, the data from which it is computed, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalExplanation:
    """A signal of a pair, with its value and its source."""

    name: str
    """Name of the signal in the noisy-or model."""

    measured: float
    """The signal, in [0, 1]."""

    alone: float
    """Probability of a join by this signal alone, in [0, 1]."""

    source: str
    """Where the signal comes from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankExplanation:
    """The scores and the rank of a candidate for a query column."""

    query: ColumnId
    """The query column."""

    candidate: ColumnId
    """The candidate."""

    found_by: tuple[str, ...]
    """Names of the sources that found the candidate; empty if no source did."""

    candidates: int
    """Number of candidates of the query column."""

    place: int
    """Place by the score alone, from 1; 0 if the column is not a candidate."""

    rank: int
    """Rank of the candidate among the suggestions before verification; 0 if it is not suggested."""

    by_signals: float
    """Score by all signals, in [0, 1]."""

    corrected: float
    """The score by all signals after its correction by the trees and the pair network."""

    by_decisions: float
    """The score after all corrections, which include people's decisions about similar pairs."""

    joinability: float
    """The joinability that follows from `by_decisions`."""


def explain_signals(ranker: Ranker, left: int, right: int) -> tuple[SignalExplanation, ...]:
    """List the signals of a pair, strongest first.

    Returns:
        The signals; none if the recipe scores pairs by the network or by names alone.
    """
    if not isinstance(ranker.signals, NoisyOrScorer):
        return ()
    signals = ranker.signals.measure(np.array([[left]]), np.array([[right]]))
    alone = probabilities_by_signal(signals, ranker.signals.strengths)
    listed = [
        SignalExplanation(
            name=name,
            measured=_measure(name, signals),
            alone=float(probability.item()),
            source=SOURCES[name],
        )
        for name, probability in alone.items()
        if name != "cosine" or signals.cosine is not None
    ]
    return tuple(sorted(listed, key=lambda each: -each.alone))


def _measure(name: str, signals: PairSignals) -> float:
    compound = {
        "lookup": signals.containment_in_right * signals.right_uniqueness,
        "location": signals.containment * signals.same_location,
        "entities": np.maximum(signals.entities, signals.crosswalk),
    }
    measured = compound[name] if name in compound else getattr(signals, name)
    return float(measured.item())


def explain_rank(
    ranker: Ranker, comparison: LakeComparison, query: int, candidate: int
) -> RankExplanation:
    """Explain the scores and the rank of a candidate for a query column."""
    ids, keys = ranker.index.lake.ids, ranker.index.keys
    row = np.flatnonzero(keys == query)
    own = ranker.candidates[row[0]] if len(row) else np.zeros(0, dtype=np.int64)
    own = own[own != NO_CANDIDATE]
    scores = score_pairs(ranker.scorer, np.full(len(own), query), own)
    score = _score(ranker.scorer, query, candidate)
    ranks = [
        each.rank
        for each in comparison.ranked
        if (each.query, each.candidate) == (ids[query], ids[candidate])
    ]
    return RankExplanation(
        query=ids[query],
        candidate=ids[candidate],
        found_by=_found_by(ranker, comparison, row, candidate),
        candidates=len(own),
        place=int((scores > score).sum()) + 1 if candidate in own else 0,
        rank=ranks[0] if ranks else 0,
        by_signals=_score(ranker.signals, query, candidate),
        corrected=_score(ranker.corrected, query, candidate),
        by_decisions=score,
        joinability=float(ranker.joinability(np.array([score])).item()),
    )


def _score(scorer: PairScorer, query: int, candidate: int) -> float:
    return float(score_pairs(scorer, np.array([query]), np.array([candidate])).item())


def _found_by(
    ranker: Ranker, comparison: LakeComparison, row: Int[np.ndarray, " _"], candidate: int
) -> tuple[str, ...]:
    embeddings = comparison.encoding.embeddings
    sources = candidate_sources(ranker.index, embeddings, ranker.config)
    found = [name for name, candidates in sources if candidate in candidates[row]]
    return tuple(dict.fromkeys(found))
