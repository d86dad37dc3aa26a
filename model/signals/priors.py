"""What the catalog and its people say of a lake's columns, by place.

It speaks of pairs whose columns both stand in the lake; all others say nothing here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from datahub_hyperjoin.catalog_facts import CatalogFacts, ColumnStatistics
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.lookup import look_up
from datahub_hyperjoin.tables import CatalogEvidence, ColumnId, ColumnProfile, Pair

_STATED = 0.9
"""How probable a join is that a foreign key or a relationship states: someone who knows the tables
wrote it down, but such statements outlive what they were true of."""
_QUERIED = 0.8
"""How probable a join is that many queries make: its rows met, though perhaps by a detour or in a
trial."""
_OFTEN = 3.0
"""Queries at which use counts for about two thirds: after a few, one more says little."""


@dataclass(frozen=True)
class PairValues:
    """A number above 0 for some pairs of columns, and 0 for all others.

    `left` and `right` list every such pair in both orders, sorted by `left`, then `right`.
    """

    columns: int
    """How many columns the lake has."""

    left: Int[np.ndarray, " pair"]
    right: Int[np.ndarray, " pair"]

    values: Float[np.ndarray, " pair"]
    """The same in both orders of a pair."""

    @classmethod
    def from_places(cls, columns: int, pairs: Mapping[tuple[int, int], float]) -> "PairValues":
        """Sorts pairs of places.

        Args:
            columns: How many columns the lake has.
            pairs: The number of each pair, listed in one order.

        Returns:
            The same in both orders.
        """
        back = {(right, left): value for (left, right), value in pairs.items()}
        listed = sorted([*pairs.items(), *back.items()])
        ends = np.array([pair for pair, _ in listed], dtype=np.int64).reshape(-1, 2)
        return cls(
            columns=columns,
            left=ends[:, 0],
            right=ends[:, 1],
            values=np.array([value for _, value in listed], dtype=np.float64),
        )

    def of(
        self, one: Int[np.ndarray, "*shape"], other: Int[np.ndarray, "*shape"]
    ) -> Float[np.ndarray, "*shape"]:
        """Values of given pairs.

        Args:
            one: Columns.
            other: Columns, as many.

        Returns:
            The number of each pair; 0 for one that is not listed.
        """
        return look_up(self._numbers, self.values, one * self.columns + other)

    @cached_property
    def _numbers(self) -> Int[np.ndarray, " pair"]:
        return self.left * self.columns + self.right

    def holds(
        self, one: Int[np.ndarray, "*shape"], other: Int[np.ndarray, "*shape"]
    ) -> Bool[np.ndarray, "*shape"]:
        """Whether given pairs are listed.

        Args:
            one: Columns.
            other: Columns, as many.

        Returns:
            One answer a pair.
        """
        return self.of(one, other) > 0

    def partners(self, column: int) -> Int[np.ndarray, " _"]:
        """The other columns of a column's pairs.

        Args:
            column: A column's place.

        Returns:
            Places, ascending.
        """
        return self.right[slice(*np.searchsorted(self.left, [column, column + 1]))]

    @cached_property
    def once(self) -> Bool[np.ndarray, " pair"]:
        """Marks each pair in one of its orders, the smaller place first."""
        return self.left < self.right

    def __len__(self) -> int:
        return len(self.left) // 2


@dataclass(frozen=True)
class CatalogPriors:
    """What is known of a lake before any value is compared."""

    uniqueness: Float[np.ndarray, " column"]
    """Distinct values per row with a value, by the catalog's profile where there is one."""

    completeness: Float[np.ndarray, " column"]
    """Share of rows with a value, by the same."""

    identifying: Int[np.ndarray, " _"]
    """Columns that are declared to be unique."""

    stated: PairValues
    """How probable the catalog alone makes a join, whatever people decided of it since."""

    connected: PairValues
    """Pairs that are declared, related or accepted, and that no one rejected; 1 for each."""

    accepted: PairValues
    """Pairs that people accepted; 1 for each."""

    rejected: PairValues
    """Pairs that people rejected; 1 for each."""

    @classmethod
    def from_knowledge(cls, lake: Lake, knowledge: CatalogFacts) -> "CatalogPriors":
        """Takes what concerns a lake's columns.

        Args:
            lake: The columns.
            knowledge: What is known of the catalog's columns.

        Returns:
            The same by place.
        """
        place = {column: at for at, column in enumerate(lake.ids)}
        measured = [_measured(profile, knowledge) for profile in lake.profiles]
        return cls(
            uniqueness=np.array([of.uniqueness for of in measured], dtype=np.float64),
            completeness=np.array([of.completeness for of in measured], dtype=np.float64),
            identifying=np.array(
                sorted(place[column] for column in knowledge.unique & place.keys()), dtype=np.int64
            ),
            stated=_placed(place, {p: _strength(said) for p, said in knowledge.pairs.items()}),
            connected=_placed(place, dict.fromkeys(knowledge.connected, 1.0)),
            accepted=_placed(place, dict.fromkeys(knowledge.accepted, 1.0)),
            rejected=_placed(place, dict.fromkeys(knowledge.rejected, 1.0)),
        )


def _measured(profile: ColumnProfile, knowledge: CatalogFacts) -> ColumnStatistics:
    own = ColumnStatistics(uniqueness=profile.uniqueness, completeness=profile.completeness)
    return knowledge.statistics.get(profile.id, own)


def _strength(said: CatalogEvidence) -> float:
    used = _QUERIED * -float(np.expm1(-said.queries / _OFTEN))
    return 1 - (1 - used) * (1 - _STATED) if said.declared or said.related else used


def _placed(place: Mapping[ColumnId, int], values: Mapping[Pair, float]) -> PairValues:
    return PairValues.from_places(
        len(place),
        {
            (place[one], place[other]): value
            for (one, other), value in values.items()
            if value and one != other and one in place and other in place
        },
    )
