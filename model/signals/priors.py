"""The catalog facts about a lake as arrays, and its key columns."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import CatalogEvidence
from datahub_hyperjoin.model.config import KeyConfig
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.signals.names import IDENTIFIER_WORDS, Words
from datahub_hyperjoin.model.signals.pairs import (
    ColumnFloats,
    ColumnMask,
    KeyInts,
    PairValues,
    SomeInts,
)
from datahub_hyperjoin.tables import ColumnId, ColumnProfile, DataType, Pair

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

    # Distinct values per row with a value, from the catalog's profile of the column if there is
    # one, else from this run's profile.
    uniqueness: ColumnFloats
    completeness: ColumnFloats
    # Columns whose rows were counted, in this run or by the catalog's profile. All other columns
    # have uniqueness and completeness 0.
    counted: ColumnMask
    declared_unique: SomeInts
    # Probability of a join by declarations and SQL queries alone, whatever people decided.
    join_probability: PairValues
    # Pairs that are declared, related or accepted, and not rejected; each has the value 1.
    connected: PairValues
    accepted: PairValues
    rejected: PairValues

    @classmethod
    def from_facts(cls, lake: Lake, facts: CatalogFacts) -> "CatalogPriors":
        """Convert the catalog facts about a lake to arrays."""
        index_of = lake.index_of
        # This run's profile of a column is the default.
        statistics = [facts.statistics.get(profile.id, profile) for profile in lake.profiles]
        declared_unique = sorted(index_of[column] for column in facts.keys.unique & index_of.keys())
        probabilities = {pair: _probability(evidence) for pair, evidence in facts.pairs.items()}
        return cls(
            uniqueness=np.array([column.uniqueness for column in statistics], dtype=np.float64),
            completeness=np.array([column.completeness for column in statistics], dtype=np.float64),
            counted=lake.mask(lambda each: each.rows > 0 or each.id in facts.statistics),
            declared_unique=np.array(declared_unique, dtype=np.int64),
            join_probability=_pair_values(index_of, probabilities),
            connected=_pair_values(index_of, dict.fromkeys(facts.connected, 1.0)),
            accepted=_pair_values(index_of, dict.fromkeys(facts.accepted, 1.0)),
            rejected=_pair_values(index_of, dict.fromkeys(facts.rejected, 1.0)),
        )

    @property
    def is_decided(self) -> bool:
        """Whether people decided about any pair."""
        return bool(len(self.accepted) or len(self.rejected))

    def without_decisions(self) -> "CatalogPriors":
        """Return the priors without people's decisions."""
        if not self.is_decided:
            return self
        connected, accepted = self.connected, self.accepted
        none = accepted.select(np.zeros(len(accepted.left), dtype=bool))
        is_accepted = accepted.holds(connected.left, connected.right)
        stated = self.join_probability.of(connected.left, connected.right)
        kept = connected.select(~is_accepted | (stated >= _DECLARED))
        return replace(self, connected=kept, accepted=none, rejected=none)


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


_MIN_DISTINCT = 3  # minimum number of distinct values of a key column
_MAX_LENGTH = 64.0
"""Maximum mean length of a key column's values, in characters; longer text is prose."""


def find_obstacle(
    profile: ColumnProfile,
    config: KeyConfig,
    *,
    words: Words,
    standing: int,
    uniqueness: float,
    completeness: float,
) -> str:
    """Return the reason why a column is not a key column; empty if it is a key column."""
    # Short texts are key columns, and so are whole numbers that identify; dates, fractions, flags
    # and prose are none.
    named_identifier = not IDENTIFIER_WORDS.isdisjoint(words)
    has_type = profile.type in {DataType.TEXT, DataType.INTEGER}
    if not profile.rows:  # Nothing but the name and the declared type is known.
        known = has_type and (named_identifier or standing == 0)
        return "" if known else "no row was read, and its name is not that of an identifier"
    few = profile.distinct < _MIN_DISTINCT
    if few or not has_type:
        values = f"it has {profile.distinct} of at least {_MIN_DISTINCT} distinct values"
        types = f"its type is {profile.type.value}, and key columns are texts and whole numbers"
        return values if has_type else types
    unique = uniqueness >= config.min_uniqueness
    if not unique and completeness < config.min_completeness:
        return (
            f"it is filled in {completeness:.0%} of the rows, which is below "
            f"`model.keys.min_completeness` {config.min_completeness:g}"
        )
    if profile.type is DataType.TEXT:
        mean = f"{profile.lengths.mean:.0f}"
        prose = f"its texts have {mean} characters on average, and a key column's at most"
        return f"{prose} {_MAX_LENGTH:.0f}" if profile.lengths.mean > _MAX_LENGTH else ""
    # Measures such as seats or ages repeat as foreign keys do; only the name tells them apart.
    if named_identifier or unique:
        return ""
    return (
        f"its whole numbers repeat (uniqueness {uniqueness:.2f} is below "
        f"`model.keys.min_uniqueness` {config.min_uniqueness:g}), and its name has no word such "
        "as `id`"
    )


def find_keys(lake: Lake, config: KeyConfig, priors: CatalogPriors) -> KeyInts:
    """Find the key columns of a lake."""
    chosen = np.zeros(len(lake), dtype=bool)
    chosen[priors.declared_unique] = chosen[priors.connected.left] = True
    facts = lake.column_words, lake.standing, priors.uniqueness, priors.completeness
    columns = zip(lake.profiles, *facts, strict=True)
    for column, (profile, words, standing, uniqueness, completeness) in enumerate(columns):
        chosen[column] |= not find_obstacle(
            profile,
            config,
            words=words,
            standing=int(standing),
            uniqueness=float(uniqueness),
            completeness=float(completeness),
        )
    return np.flatnonzero(chosen)
