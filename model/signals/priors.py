"""Convert catalog facts to arrays.

Pairs are kept only if both columns are in the lake.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from datahub_hyperjoin.catalog_facts import CatalogFacts, ColumnStatistics
from datahub_hyperjoin.joins import CatalogEvidence
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.pairs import PairValues
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, Pair

_DECLARED = 0.9
"""Probability of a join that a foreign key or a relationship declares. Whoever declared the join
knew the tables, but the data may have changed since."""
_QUERIED = 0.8
"""Probability of a join that many SQL queries make: its rows match, but a query may be an
experiment."""
_QUERY_SCALE = 3.0
"""Number of SQL queries at which the probability reaches about two thirds of `_QUERIED`; each
further query adds less."""


@dataclass(frozen=True)
class CatalogPriors:
    """The catalog facts as arrays, in which columns are given by their index in the lake."""

    uniqueness: Float[np.ndarray, " column"]
    """Distinct values per row with a value, from the catalog's profile of the column if there is
    one, else from this run's profile."""

    completeness: Float[np.ndarray, " column"]
    """Share of rows with a value, from the catalog's profile of the column if there is one, else
    from this run's profile."""

    counted: Bool[np.ndarray, " column"]
    """Columns whose rows were counted, in this run or by the catalog's profile. All other columns
    have uniqueness and completeness 0."""

    declared_unique: Int[np.ndarray, " _"]
    """Indices of the columns that the catalog declares to be unique, ascending."""

    join_probability: PairValues
    """Probability of a join by declarations and SQL queries alone, whatever people decided."""

    connected: PairValues
    """Pairs that are declared, related or accepted, and not rejected; each has the value 1."""

    accepted: PairValues
    """Pairs that people accepted, each with the value 1."""

    rejected: PairValues
    """Pairs that people rejected, each with the value 1."""

    @classmethod
    def from_facts(cls, lake: Lake, facts: CatalogFacts) -> "CatalogPriors":
        """Convert the catalog facts about a lake to arrays."""
        index_of = lake.index_of
        statistics = [_statistics(profile, facts) for profile in lake.profiles]
        declared_unique = sorted(index_of[column] for column in facts.unique & index_of.keys())
        probabilities = {pair: _probability(evidence) for pair, evidence in facts.pairs.items()}
        return cls(
            uniqueness=np.array([column.uniqueness for column in statistics], dtype=np.float64),
            completeness=np.array([column.completeness for column in statistics], dtype=np.float64),
            counted=np.array(
                [profile.rows > 0 or profile.id in facts.statistics for profile in lake.profiles],
                dtype=bool,
            ),
            declared_unique=np.array(declared_unique, dtype=np.int64),
            join_probability=_pair_values(index_of, probabilities),
            connected=_pair_values(index_of, dict.fromkeys(facts.connected, 1.0)),
            accepted=_pair_values(index_of, dict.fromkeys(facts.accepted, 1.0)),
            rejected=_pair_values(index_of, dict.fromkeys(facts.rejected, 1.0)),
        )

    def without_decisions(self) -> "CatalogPriors":
        """Return a copy of the priors without people's decisions."""
        connected, accepted = self.connected, self.accepted
        none = accepted.select(np.zeros(len(accepted.left), dtype=bool))
        is_accepted = accepted.holds(connected.left, connected.right)
        stated = self.join_probability.of(connected.left, connected.right)
        kept = connected.select(~is_accepted | (stated >= _DECLARED))
        return replace(self, connected=kept, accepted=none, rejected=none)


def _statistics(profile: ColumnProfile, facts: CatalogFacts) -> ColumnStatistics:
    measured = ColumnStatistics(uniqueness=profile.uniqueness, completeness=profile.completeness)
    return facts.statistics.get(profile.id, measured)


def _probability(evidence: CatalogEvidence) -> float:
    # Saturating: the first queries count most.
    queried = _QUERIED * -float(np.expm1(-evidence.queries / _QUERY_SCALE))
    # Decisions are left out: they select and calibrate suggestions, and do not score pairs.
    declared = bool(evidence.declared or evidence.related)
    return 1 - (1 - queried) * (1 - _DECLARED) if declared else queried


def _pair_values(index_of: Mapping[ColumnId, int], values: Mapping[Pair, float]) -> PairValues:
    return PairValues.from_mapping(
        len(index_of),
        {
            (index_of[left], index_of[right]): value
            for (left, right), value in values.items()
            if value and left != right and left in index_of and right in index_of
        },
    )
