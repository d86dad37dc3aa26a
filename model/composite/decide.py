"""Decide which of the proposed composite references are real.

Three facts speak for a reference: its tuples are contained in a unique set of columns, far fewer
would be if the columns had nothing to do with each other, and the names of the columns agree.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log2

from datahub_hyperjoin.joins import (
    MIN_TUPLE_CONTAINMENT,
    Cardinality,
    ColumnPairs,
    CompositeEvidence,
)
from datahub_hyperjoin.model.composite.propose import Proposal
from datahub_hyperjoin.tables import ColumnId, TableId

MIN_PROBABILITY = 0.5
"""Minimum probability of a reference that is shown."""

_BIAS, _NAMES, _BITS = -4.0, 5.0, 1 / 12
"""Parts of a reference's log-odds: a constant, an increase for equal names in every column, and an
increase for each bit of evidence against chance. Equal names alone suffice, and so do 48 bits."""
_MAX_BITS = 60.0
"""Maximum evidence against chance, in bits; more is ignored. At this maximum, the match is surely
no accident, but the key may still be the wrong one."""
_MISSING = 40.0
"""Decrease of the log-odds if all tuples lack a partner; proportionally less if only some do."""
_DECLARED = 0.9
"""Probability of a reference that a foreign key declares, whatever the data says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeReference:
    """A reference from several columns of one table to a key of another table."""

    pairs: ColumnPairs
    """The referring and the referenced columns."""

    evidence: CompositeEvidence
    """The evidence for the reference, measured on the data."""

    probability: float
    """Probability that the columns refer to the key, in [0, 1]."""

    declared: str
    """Name of the foreign key that declares the reference; empty if none does."""

    rank: int
    """Rank of the key among the keys of its table, from 0."""

    @property
    def key(self) -> tuple[ColumnId, ...]:
        """The referenced columns."""
        return tuple(referenced for _, referenced in self.pairs)

    @property
    def tables(self) -> tuple[TableId, TableId]:
        """The referring table and the referenced table."""
        referring, referenced = self.pairs[0]
        return referring.table, referenced.table


def bits_against_chance(evidence: CompositeEvidence) -> float:
    """Compute the evidence, in bits, that a reference's matches are not due to chance.

    It is the logarithm of the likelihood ratio of the measured share of matches and of the share
    after one column was shuffled, for the column that matters least.

    Returns:
        0 if a column could as well have any of its values.
    """
    matched, shuffled = evidence.matched, max(evidence.by_chance, default=1.0)
    # Five tuples without a match do not show that matches are impossible (Laplace's rule).
    chance = (shuffled * evidence.tuples + 1) / (evidence.tuples + 2)
    if matched <= chance:
        return 0.0
    gain = matched * log2(matched / chance)
    if matched < 1:
        gain += (1 - matched) * log2((1 - matched) / (1 - chance))
    return evidence.tuples * gain


def probability_of(proposal: Proposal, evidence: CompositeEvidence) -> float:
    """Compute the probability that a proposed reference is real.

    Returns:
        0 if the referenced columns are not unique or do not contain the tuples, unless a foreign
        key declares the reference.
    """
    measured = 0.0
    if evidence.is_unique and evidence.evidence.left_containment >= MIN_TUPLE_CONTAINMENT:
        bits = min(bits_against_chance(evidence), _MAX_BITS)
        missing = 1 - evidence.evidence.left_containment
        odds = _BIAS + _NAMES * proposal.names + _BITS * bits - _MISSING * missing
        measured = 1 / (1 + exp(-odds))
    return 1 - (1 - measured) * (1 - _DECLARED) if proposal.declared else measured


def decide(
    proposals: Sequence[Proposal],
    measured: Mapping[ColumnPairs, CompositeEvidence],
    min_probability: float = MIN_PROBABILITY,
) -> list[CompositeReference]:
    """Choose the proposed references that are probably real.

    Two tables refer to each other through one key, except for declared references. Columns refer
    to one key: of several that contain them, the one that most other columns refer to.

    Args:
        measured: Their evidence, without those that could not be read.
        min_probability: Minimum probability of a reference that is not declared.
    """
    probable = [
        _reference(proposal, measured[proposal.pairs])
        for proposal in proposals
        if proposal.pairs in measured
    ]
    probable = [
        reference
        for reference in probable
        if reference.evidence.evidence.shared
        and (reference.probability >= min_probability or reference.declared)
    ]
    popularity = Counter(reference.key for reference in probable)

    def order(reference: CompositeReference) -> tuple[object, ...]:
        return (
            not reference.declared,
            # Rounded, so that small differences leave the choice to the facts below.
            -round(reference.probability, 1),
            -popularity[reference.key],
            reference.rank,
            -reference.evidence.evidence.left_containment,
            reference.evidence.evidence.right_containment,
            reference.pairs,
        )

    chosen = _without_rivals(sorted(probable, key=order))
    return sorted(chosen, key=lambda reference: (-reference.probability, reference.pairs))


def _reference(proposal: Proposal, evidence: CompositeEvidence) -> CompositeReference:
    return CompositeReference(
        pairs=proposal.pairs,
        evidence=evidence,
        probability=probability_of(proposal, evidence),
        declared=proposal.declared,
        rank=proposal.rank,
    )


def _without_rivals(references: Sequence[CompositeReference]) -> list[CompositeReference]:
    """Drop each reference that conflicts with an earlier reference in the list.

    The list has the best references first. Two references conflict if they have the same referring
    columns, have the same column pairs, lead from one table to different keys of another, or join
    two tables one to one in opposite directions: each row of a copy has its row in the original
    already. A declared reference is dropped only if an earlier one has the same column pairs.
    """
    kept: list[CompositeReference] = []
    keys: dict[tuple[TableId, TableId], tuple[ColumnId, ...]] = {}
    referring: set[frozenset[ColumnId]] = set()
    joined: set[frozenset[frozenset[ColumnId]]] = set()
    extensions: set[tuple[TableId, TableId]] = set()
    for reference in references:
        columns = frozenset(column for column, _ in reference.pairs)
        join = frozenset(map(frozenset, reference.pairs))
        is_rival = (
            columns in referring
            or keys.get(reference.tables, reference.key) != reference.key
            or join in joined
            or (is_one_to_one(reference) and reference.tables[::-1] in extensions)
        )
        if is_rival and not reference.declared:
            continue
        if join in joined:
            continue
        kept.append(reference)
        referring.add(columns)
        joined.add(join)
        keys.setdefault(reference.tables, reference.key)
        extensions |= {reference.tables} if is_one_to_one(reference) else set()
    return kept


def is_one_to_one(reference: CompositeReference) -> bool:
    """Return whether at most one row refers to each row of the referenced table."""
    return reference.evidence.evidence.cardinality is Cardinality.ONE_ONE
