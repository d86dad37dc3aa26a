"""How joinable two columns are, from what is known of both.

The network's cosine alone is the paper's weight of a pair. Ours adds what the values and the names
say: value overlap beyond chance, cells that are written alike, alike names, codes and names of the
same things, and, where values overlap, whether the candidate's are unique enough to be looked up
and whether both tables stand in one folder or schema. To that comes what the catalog says: foreign
keys, relationships and the joins of its queries. Each signal alone would make a pair joinable with
some probability; a pair is not joinable if none of them does (noisy-or; Pearl, 1988).

Numbers are little evidence by themselves: running numbers share values with every other. Theirs
count as far as the names agree, the more so the more of their range they fill.
"""

from abc import ABC, abstractmethod

import numpy as np
from jaxtyping import Float, Float32, Int
from typing_extensions import assert_never

from datahub_hyperjoin.model.config import Scoring
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.signals.priors import PairValues

_VALUES, _SETS, _CELLS, _COSINE, _NAMES, _LOOKUP, _HOME = 0.7, 0.5, 0.7, 0.1, 0.25, 0.2, 0.1
_FORM, _THINGS = 0.8, 0.7
"""How probable a join is when one signal alone is at its full strength."""
_FEW = 3.0
"""Shared values at which overlap counts for about two thirds."""
_NAMELESS = 0.1
"""How alike names are taken to be that have nothing in common."""
_SPARSE, _DENSE = 0.5, 2.0
"""Powers of names' likeness by which sparse numbers are believed, and those that fill their range.
"""


class PairScorer(ABC):
    """A weight for every pair of columns."""

    @abstractmethod
    def between(
        self, left: Int[np.ndarray, "query l"], right: Int[np.ndarray, "query r"]
    ) -> Float[np.ndarray, "query l r"]:
        """Weighs each left column against each right one, query by query.

        Args:
            left: Columns.
            right: Columns.

        Returns:
            Weights in [0, 1].
        """

    def probability(self, weights: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """How probable joins are, before anyone has decided of any.

        Args:
            weights: Of pairs, in [0, 1].

        Returns:
            As many in [0, 1], in the same order; here the weights themselves.
        """
        return weights


class CosineScorer(PairScorer):
    """The network's cosine, rescaled so that random columns have weight 0.

    Args:
        embeddings: Unit vectors, one a column.
    """

    def __init__(self, embeddings: Float32[np.ndarray, "column width"]) -> None:
        self._embeddings = embeddings
        count = max(len(embeddings), 2)
        total = embeddings.sum(axis=0)
        self._chance = min(float(total @ total - count) / (count * (count - 1)), 0.999)

    def between(
        self, left: Int[np.ndarray, "query l"], right: Int[np.ndarray, "query r"]
    ) -> Float[np.ndarray, "query l r"]:
        """Weighs pairs by cosine."""
        cosine = self._embeddings[left] @ self._embeddings[right].swapaxes(1, 2)
        return np.clip((cosine - self._chance) / (1 - self._chance), 0.0, 1.0)


class NoisyOrScorer(PairScorer):
    """All signals as a noisy-or, in which numbers count as far as their names agree.

    Args:
        structure: The columns, their values and cells, and what the catalog says of them.
        cosine: The network's part; none of it is heard without.
    """

    def __init__(self, structure: LakeIndex, cosine: CosineScorer | None) -> None:
        self._overlap = structure.overlap
        self._enough = 1 - np.exp(-structure.overlap.shared / _FEW)
        self._cells = structure.cells
        self._known = structure.known
        self._cosine = cosine
        self._names = structure.names
        self._density = structure.lake.density
        self._entities = structure.entities
        self._is_text = structure.lake.is_text
        homes = [column.table.home for column in structure.lake.ids]
        self._home = np.unique(homes, return_inverse=True)[1]

    def between(
        self, left: Int[np.ndarray, "query l"], right: Int[np.ndarray, "query r"]
    ) -> Float[np.ndarray, "query l r"]:
        """Weighs pairs by all signals."""
        one, other = np.broadcast_arrays(left[:, :, None], right[:, None, :])
        forth = self._overlap.lookup(self._overlap.beyond_chance, one, other)
        enough = self._overlap.lookup(self._enough, one, other)
        overlap = self._overlap.lookup(self._overlap.either_way, one, other) * enough
        differ = (
            (1 - _VALUES * overlap)
            * (1 - _SETS * self._overlap.lookup(self._overlap.ochiai, one, other))
            * (1 - _CELLS * self._cells.between(left, right))
        )
        names = self._names.of(one, other)
        things, alike = self._entities.pairs.of(one, other), self._entities.alike(one, other)
        texts = self._is_text[one] & self._is_text[other]
        dense = np.maximum(self._density[one], self._density[other])
        trust = _SPARSE + (_DENSE - _SPARSE) * dense
        named = ((names + _NAMELESS) / (1 + _NAMELESS)) ** trust
        neither = (
            np.where(texts, differ * (1 - _NAMES * names), 1 - named * (1 - differ))
            * (1 - _COSINE * (self._cosine.between(left, right) if self._cosine else 0.0))
            * (1 - _LOOKUP * forth * enough * self._known.uniqueness[other])
            * (1 - _HOME * overlap * (self._home[one] == self._home[other]))
            * (1 - np.where(alike, _FORM * (things > 0), _THINGS * things))
            * (1 - self._known.stated.of(one, other))
        )
        return 1 - neither

    def probability(self, weights: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """Squares the odds.

        Signals aren't independent, as a noisy-or takes them to be: several weak ones are chance
        more often than it says, and what is strong by one is mostly right.
        """
        pro, con = weights**2, (1 - weights) ** 2
        return pro / (pro + con)


class AllowedScorer(PairScorer):
    """Another weight, and 0 for pairs that people rejected.

    Args:
        weight: Of pairs as though nobody had decided.
        rejected: The pairs.
    """

    def __init__(self, weight: PairScorer, rejected: PairValues) -> None:
        self._weight = weight
        self._rejected = rejected

    def between(
        self, left: Int[np.ndarray, "query l"], right: Int[np.ndarray, "query r"]
    ) -> Float[np.ndarray, "query l r"]:
        """Weighs pairs by the other weight where nobody forbids it."""
        weights = self._weight.between(left, right)
        if not len(self._rejected):
            return weights
        one, other = np.broadcast_arrays(left[:, :, None], right[:, None, :])
        return np.where(self._rejected.holds(one, other), 0.0, weights)


def build_scorer(
    structure: LakeIndex, embeddings: Float32[np.ndarray, "column width"], affinity: Scoring
) -> PairScorer:
    """The weight that the configuration names, as though nobody had decided anything.

    Args:
        structure: The lake.
        embeddings: Its columns' unit vectors.
        affinity: Which weight.

    Returns:
        A weight for every pair of its columns.
    """
    match affinity:
        case Scoring.HIN:
            return CosineScorer(embeddings)
        case Scoring.BLEND:
            return NoisyOrScorer(structure, CosineScorer(embeddings))
        case Scoring.SIGNALS:
            return NoisyOrScorer(structure, None)
    assert_never(affinity)
