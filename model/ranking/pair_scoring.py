"""Score how joinable two columns are, before trained models correct the scores.

The paper scores a pair by the network's cosine alone. The default combines all signals: each alone
makes a pair joinable with some probability, and a pair is not joinable if no signal makes it so
(noisy-or; Pearl, 1988).

Numbers in common are weak evidence, since consecutive numbers share values with every other such
column. Evidence from numbers is therefore discounted by the similarity of the names, the more so
the more of their range the numbers fill.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from typing_extensions import assert_never

from datahub_hyperjoin.model.config import Scoring
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.signals.pairs import (
    Floats,
    Masks,
    PairFloats,
    PairInts,
    PairValues,
    Vectors,
    values_at,
)
from datahub_hyperjoin.model.signals.sketches import trust_in_numbers, weigh_shared
from datahub_hyperjoin.tables import Pair

Lefts = Int[np.ndarray, "query l"]
Rights = Int[np.ndarray, "query r"]
Scores = Float[np.ndarray, "query l r"]


@dataclass(frozen=True, kw_only=True)
class SignalStrengths:
    """For each signal, the highest probability of a join that the signal alone can give."""

    # Strength if the values of one column are contained in the other, beyond chance.
    containment: float = 0.7
    ochiai: float = 0.5  # strength if the sets of values are equal
    cells: float = 0.7  # strength if the cells of both columns have the same trigrams
    names: float = 0.25  # strength if text columns have the same name
    cosine: float = 0.1  # strength if the network's embeddings are equal
    # Strength if the right column is unique and contains the values of the left column.
    lookup: float = 0.2
    location: float = 0.1  # strength if values overlap, and both tables are in one folder or schema
    # Strength if both columns hold entities of one kind in the same form, and share an entity.
    same_form: float = 0.8
    other_form: float = 0.7  # strength if both columns hold the same entities in different forms
    # Strength if a crosswalk has a column with the left values, and another with the right values.
    crosswalk: float = 0.7
    # Strength if one column certainly refers to the other, or both refer to the same key.
    related: float = 0.9
    catalog: float = 1.0  # strength if the catalog states a join with certainty


STRENGTHS = SignalStrengths()
"""These strengths give the best rankings on the development lakes; small changes matter little."""


@dataclass(frozen=True, kw_only=True)
class PairSignals:
    """The signals of column pairs, one array for each signal."""

    containment: Floats  # containment beyond chance in the better of both directions
    containment_in_right: Floats  # containment, beyond chance, of the left column in the right one
    # Weight of the overlap by the number of shared values, see `weigh_shared`.
    shared_weight: Floats
    ochiai: Floats  # cosine of the sets of values
    cells: Floats  # cosine of the cells' trigrams
    names: Floats  # similarity of the names
    cosine: Floats | None  # the network's cosine, rescaled; None without a network
    right_uniqueness: Floats  # uniqueness of the right column
    same_location: Masks  # whether both tables are in one folder or schema
    entities: Floats  # overlap of the entities; 0 for columns that share none
    # Whether both columns write entities of one kind in the same form.
    same_form: Masks
    # Strength of the two steps through a crosswalk; 0 for columns that no crosswalk connects.
    crosswalk: Floats
    # Probability that one column refers to the other, or that both refer to the same key.
    related: Floats
    catalog: Floats  # probability of the join by the catalog alone
    text: Masks  # whether both columns hold text
    density: Floats  # how densely the numbers of the denser column fill their range, from 0 to 1

    def flatten(self) -> "PairSignals":
        """Return a copy of the signals as one-dimensional arrays."""
        arrays = {name: array.ravel() for name, array in vars(self).items() if array is not None}
        return replace(self, **arrays)

    def without_background_knowledge(self) -> "PairSignals":
        """Return a copy in which the signals `entities`, `crosswalk` and `catalog` are 0."""
        none = np.zeros_like(self.names)
        return replace(self, entities=none, crosswalk=none, catalog=none)


def combine_background_knowledge(signals: PairSignals, strengths: SignalStrengths) -> Floats:
    """Compute the probability of a join from three signals: entities, crosswalks and catalog."""
    not_joinable = 1 - _by_entities_and_crosswalks(signals, strengths)
    return 1 - not_joinable * (1 - strengths.catalog * signals.catalog)


def _by_entities_and_crosswalks(signals: PairSignals, strengths: SignalStrengths) -> Floats:
    """Compute the probability of a join from two signals: entities and crosswalks."""
    by_entities = np.where(
        signals.same_form,
        strengths.same_form * (signals.entities > 0),
        strengths.other_form * signals.entities,
    )
    # A standard code list is a crosswalk, too: two of them are no more evidence than one.
    return np.maximum(by_entities, strengths.crosswalk * signals.crosswalk)


def probabilities_by_signal(signals: PairSignals, strengths: SignalStrengths) -> dict[str, Floats]:
    """For each signal alone, compute how probable a join is."""
    # `entities` stands for entities and crosswalks.
    overlap = signals.containment * signals.shared_weight
    cosine = np.zeros_like(signals.names) if signals.cosine is None else signals.cosine
    return {
        "containment": strengths.containment * overlap,
        "ochiai": strengths.ochiai * signals.ochiai,
        "cells": strengths.cells * signals.cells,
        "names": strengths.names * signals.names,
        "cosine": strengths.cosine * cosine,
        # The direction matters here only: the left column looks up rows of the right one.
        "lookup": strengths.lookup
        * signals.containment_in_right
        * signals.shared_weight
        * signals.right_uniqueness,
        "location": strengths.location * overlap * signals.same_location,
        "entities": _by_entities_and_crosswalks(signals, strengths),
        "related": strengths.related * signals.related,
        "catalog": strengths.catalog * signals.catalog,
    }


def combine(signals: PairSignals, strengths: SignalStrengths) -> Floats:
    """Combine all signals into the probability of a join."""
    # s = 1 - (1 - p) Π (1 - w x) for signals x with strengths w, where p is the content: of two
    # texts a noisy-or of values, cells and names; of others one of values and cells, discounted by
    # names.
    by = probabilities_by_signal(signals, strengths)
    not_by_values = (1 - by["containment"]) * (1 - by["ochiai"]) * (1 - by["cells"])
    # Equal names support texts, but for numbers they only decide how far values are believed.
    not_by_text = not_by_values * (1 - by["names"])
    not_by_numbers = 1 - trust_in_numbers(signals.names, signals.density) * (1 - not_by_values)
    # The order of the factors is fixed: another one rounds differently and can swap tied ranks.
    not_joinable = (
        np.where(signals.text, not_by_text, not_by_numbers)
        * (1 - by["cosine"])
        * (1 - by["lookup"])
        * (1 - by["location"])
        * (1 - by["entities"])
        * (1 - by["related"])
        * (1 - by["catalog"])
    )
    return 1 - not_joinable


def pairs_of_each(left: Lefts, right: Rights) -> Sequence[Int[np.ndarray, "query l r"]]:
    """Pair every left column with every right column of the same query."""
    return np.broadcast_arrays(left[:, :, None], right[:, None, :])


class PairScorer(ABC):
    """The interface of objects that score how joinable two columns are."""

    @abstractmethod
    def score(self, left: Lefts, right: Rights) -> Scores:
        """For each query, score every left column with every right column."""

    def to_probability(self, scores: Floats) -> Floats:
        """Convert scores to uncalibrated probabilities of a join."""
        return scores


class CosineScorer(PairScorer):
    """A scorer that uses the cosine of embeddings."""

    def __init__(self, embeddings: Vectors) -> None:
        self._embeddings = embeddings
        count = max(len(embeddings), 2)
        total = embeddings.sum(axis=0)
        # The mean cosine of all pairs, in linear time: |sum of vectors|² counts each pair twice
        # and each unit vector once.
        self._mean = min(float(total @ total - count) / (count * (count - 1)), 0.999)

    def score(self, left: Lefts, right: Rights) -> Scores:
        """Score each pair by the rescaled cosine of its two embeddings."""
        cosine = self._embeddings[left] @ self._embeddings[right].swapaxes(1, 2)
        return np.clip((cosine - self._mean) / (1 - self._mean), 0.0, 1.0)


@dataclass(frozen=True)
class NoisyOrScorer(PairScorer):
    """A scorer that combines all signals with a noisy-or model."""

    index: LakeIndex
    cosine: CosineScorer | None  # the network's part; None to score without a network
    strengths: SignalStrengths

    def score(self, left: Lefts, right: Rights) -> Scores:
        """Score pairs by all signals together."""
        return combine(self.measure(left, right), self.strengths)

    def measure(self, left: Lefts, right: Rights) -> PairSignals:
        """For each query, measure the signals of every left column with every right column."""
        index, overlap = self.index, self.index.overlap
        # Signals of values come from pairs that are looked up one by one; only cells and
        # embeddings are compared as matrices.
        first, second = pairs_of_each(left, right)
        density, is_text, place = index.lake.density, index.lake.is_text, index.lake.place_of
        at = overlap.locate(first, second)
        back = overlap.reverse_at(at)
        shared = values_at(overlap.shared, at)
        return PairSignals(
            containment=overlap.either_way_at(at, back),
            containment_in_right=values_at(overlap.beyond_chance, at),
            shared_weight=weigh_shared(shared),
            ochiai=overlap.ochiai_at(at, back),
            cells=index.cells.between(left, right),
            names=index.names.of(first, second),
            cosine=self.cosine.score(left, right) if self.cosine else None,
            right_uniqueness=index.priors.uniqueness[second],
            same_location=place[first] == place[second],
            entities=index.entities.of(first, second),
            same_form=index.entities.same_form(first, second),
            crosswalk=index.crosswalks.pairs.of(first, second),
            related=np.where(
                is_text[first] & is_text[second],
                0.0,
                index.relations.between(first, second, index.may_share(first, second, shared)),
            ),
            catalog=index.priors.join_probability.of(first, second),
            text=is_text[first] & is_text[second],
            density=np.maximum(density[first], density[second]),
        )

    def to_probability(self, scores: Floats) -> Floats:
        """Convert scores to uncalibrated probabilities of a join."""
        # A noisy-or assumes independent signals. They are not: several weak signals are chance more
        # often than it predicts, and one strong signal is mostly right.
        joined, not_joined = scores**2, (1 - scores) ** 2
        return joined / (joined + not_joined)


@dataclass(frozen=True)
class NameScorer(PairScorer):
    """A scorer that uses names, probable references and the catalog, but no values."""

    index: LakeIndex
    cosine: CosineScorer | None
    strengths: SignalStrengths

    def score(self, left: Lefts, right: Rights) -> Scores:
        """Score pairs by references, names, the catalog and the network."""
        index, strengths = self.index, self.strengths
        first, second = pairs_of_each(left, right)
        by_cosine = self.cosine.score(left, right) if self.cosine else np.zeros(first.shape)
        not_joinable = (
            (1 - strengths.related * index.relations.between(first, second))
            * (1 - strengths.names * index.names.of(first, second))
            * (1 - strengths.catalog * index.priors.join_probability.of(first, second))
            * (1 - strengths.cosine * by_cosine)
        )
        return 1 - not_joinable


@dataclass(frozen=True)
class RejectionAwareScorer(PairScorer):
    """A scorer that gives rejected pairs the score 0."""

    scorer: PairScorer
    rejected: PairValues

    def score(self, left: Lefts, right: Rights) -> Scores:
        """Give rejected pairs the score 0, and score all others with the wrapped scorer."""
        scores = self.scorer.score(left, right)
        if not len(self.rejected):
            return scores
        first, second = pairs_of_each(left, right)
        return np.where(self.rejected.holds(first, second), 0.0, scores)


def score_pairs(scorer: PairScorer, left: PairInts, right: PairInts) -> PairFloats:
    """Score each left column with the right column at the same position."""
    if not len(left):
        return np.zeros(0)
    return np.clip(scorer.score(left[:, None], right[:, None])[:, 0, 0], 0.0, 1.0)


def build_scorer(index: LakeIndex, embeddings: Vectors, scoring: Scoring) -> PairScorer:
    """Create the scorer that the recipe selects."""
    blend = NoisyOrScorer if index.features.values else NameScorer
    match scoring:
        case Scoring.HIN:
            return CosineScorer(embeddings)
        case Scoring.BLEND:
            return blend(index, CosineScorer(embeddings), STRENGTHS)
        case Scoring.SIGNALS:
            return blend(index, None, STRENGTHS)
    assert_never(scoring)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contributions:
    """The probability of a join, from all signals together and from each signal alone."""

    # Probability of a join from all signals, in [0, 1], before trees, roles and decisions.
    together: float
    # Probability of a join from each signal alone, in [0, 1], by the signal's name.
    alone: Mapping[str, float]


def list_contributions(
    index: LakeIndex, embeddings: Vectors, pairs: Sequence[Pair], scoring: Scoring
) -> dict[Pair, Contributions]:
    """Compute each pair's probability of a join, from all signals and from each signal alone."""
    scorer = build_scorer(index, embeddings, scoring)
    if not isinstance(scorer, NoisyOrScorer) or not pairs:
        return {}
    ends = np.array([[index.lake.index_of[column] for column in pair] for pair in pairs])
    both = (ends, ends[:, ::-1])
    ways = [scorer.measure(way[:, :1], way[:, 1:]) for way in both]
    together = np.maximum(*(combine(way, scorer.strengths)[:, 0, 0] for way in ways))
    there, back = (probabilities_by_signal(way, scorer.strengths) for way in ways)
    alone = {name: np.maximum(there[name], back[name])[:, 0, 0] for name in there}
    return {
        pair: Contributions(
            together=float(together[at]),
            alone={name: float(weights[at]) for name, weights in alone.items()},
        )
        for at, pair in enumerate(pairs)
    }
