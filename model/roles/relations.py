"""Look up which columns refer to each other or to the same key."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from datahub_hyperjoin.joins import KnownNamesakes
from datahub_hyperjoin.model.roles.namesakes import Namesakes
from datahub_hyperjoin.model.roles.references import References

NO_KEY = -1
"""The key of a column that refers to none."""


@dataclass(frozen=True)
class Relations:
    """The key that each column refers to, and the probability of each reference."""

    key: Int[np.ndarray, " column"]
    """The key that each column refers to, or `NO_KEY`."""

    probability: Float[np.ndarray, " column"]
    """Probability that each column refers to its `key`, in [0, 1]; 0 for `NO_KEY`."""

    namesakes: Namesakes | None = None
    """The known references of each column's namesakes; None if they were not counted."""

    @classmethod
    def from_references(cls, references: References, columns: int) -> "Relations":
        """For each column, select its most probable reference."""
        key, probability = np.full(columns, NO_KEY), np.zeros(columns)
        for column, (referenced, likely) in references.best.items():
            key[column], probability[column] = referenced, likely
        return cls(key, probability, _of_best(references, key))

    def namesakes_of(self, column: int) -> KnownNamesakes | None:
        """Return how many namesakes of a column refer to the same key as the column.

        Returns:
            This number, and that of all namesakes with a known reference; None if no namesake is
            known to refer to this key.
        """
        if self.namesakes is None or not self.namesakes.agreeing[column]:
            return None
        known, agreeing = self.namesakes.known[column], self.namesakes.agreeing[column]
        return KnownNamesakes(known=int(known), agreeing=int(agreeing))

    @cached_property
    def _referring(self) -> Int[np.ndarray, " reference"]:
        """All columns that refer to a key, sorted by key.

        Columns of one key are sorted by falling probability.
        """
        order = np.lexsort((-self.probability, self.key))
        return order[self.key[order] != NO_KEY]

    @cached_property
    def _keys(self) -> Int[np.ndarray, " reference"]:
        """The key that each column in `_referring` refers to, in the same order."""
        return self.key[self._referring]

    def referring_to(self, key: int) -> Int[np.ndarray, " column"]:
        """Return the columns that refer to a given key, most probable first.

        Args:
            key: A column, or `NO_KEY`, to which no column refers.
        """
        return self._referring[slice(*np.searchsorted(self._keys, [key, key + 1]))]

    def between(
        self, left: Int[np.ndarray, "*pair"], right: Int[np.ndarray, "*pair"]
    ) -> Float[np.ndarray, "*pair"]:
        """For each pair, return the probability that its columns are related by references.

        Columns are related if one refers to the other, or if both refer to the same key.

        Returns:
            A probability in [0, 1] for each pair; 0 for pairs that are not related.
        """
        first, second = self.probability[left], self.probability[right]
        forward = np.where(self.key[left] == right, first, 0.0)
        backward = np.where(self.key[right] == left, second, 0.0)
        siblings = np.where(self.key[left] == self.key[right], first * second, 0.0)
        return np.maximum(np.maximum(forward, backward), siblings)


def _of_best(references: References, key: Int[np.ndarray, " column"]) -> Namesakes | None:
    """For each column, return what its namesakes tell about the key that it refers to."""
    if references.namesakes is None:
        return None
    known, agreeing = np.zeros((2, len(key)), dtype=np.int64)
    chosen = np.flatnonzero(key[references.referring] == references.referenced)
    known[references.referring[chosen]] = references.namesakes.known[chosen]
    agreeing[references.referring[chosen]] = references.namesakes.agreeing[chosen]
    return Namesakes(known, agreeing)
