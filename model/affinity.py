"""How joinable two columns are, from what is known of both.

The network's cosine alone is the paper's weight of a pair. Ours adds what the sketches and the
names say: value overlap beyond chance, alike names, and, where values overlap, whether the
candidate's are unique enough to be looked up and whether both tables stand in one folder or schema.
Each signal alone would make a pair joinable with some probability; a pair is not joinable if none
of them does (noisy-or; Pearl, 1988).
"""

from abc import ABC, abstractmethod

import numpy as np
from jaxtyping import Float, Float32, Int

from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.names import NameSimilarity
from datahub_hyperjoin.model.overlap import Overlap

_VALUES, _COSINE, _NAMES, _LOOKUP, _HOME = 0.7, 0.35, 0.35, 0.2, 0.1
"""How probable a join is when one signal alone is at its full strength."""
_FEW = 3.0
"""Shared values at which overlap counts for about two thirds."""


class PairWeight(ABC):
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


class CosineWeight(PairWeight):
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


class BlendWeight(PairWeight):
    """Value overlap, cosine, names, uniqueness of the right side and locality, as a noisy-or.

    Args:
        lake: The columns.
        overlap: Their values' overlap.
        cosine: The network's part.
    """

    def __init__(self, lake: Lake, overlap: Overlap, cosine: CosineWeight) -> None:
        self._overlap = overlap
        self._cosine = cosine
        self._uniqueness = np.array([profile.uniqueness for profile in lake.profiles])
        self._names = NameSimilarity([profile.id.path for profile in lake.profiles])
        homes = [profile.id.table.home for profile in lake.profiles]
        self._home = np.unique(homes, return_inverse=True)[1]

    def between(
        self, left: Int[np.ndarray, "query l"], right: Int[np.ndarray, "query r"]
    ) -> Float[np.ndarray, "query l r"]:
        """Weighs pairs by all signals."""
        one, other = np.broadcast_arrays(left[:, :, None], right[:, None, :])
        forth = self._overlap.lookup(self._overlap.beyond_chance, one, other)
        shared = self._overlap.lookup(self._overlap.shared.astype(float), one, other)
        enough = 1 - np.exp(-shared / _FEW)
        overlap = self._overlap.lookup(self._overlap.either_way, one, other) * enough
        neither = (
            (1 - _VALUES * overlap)
            * (1 - _COSINE * self._cosine.between(left, right))
            * (1 - _NAMES * self._names.of(one, other))
            * (1 - _LOOKUP * forth * enough * self._uniqueness[other])
            * (1 - _HOME * overlap * (self._home[one] == self._home[other]))
        )
        return 1 - neither
