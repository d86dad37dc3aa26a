"""Find composite joins, which compare several pairs of columns at once.

The steps are: search composite keys, propose references to them, verify the references on the data
and decide which of them hold. Results of earlier runs are reused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.joins import Cardinality, CatalogEvidence, Join, Role, Verdict, sort_joins
from datahub_hyperjoin.model.composite import (
    MIN_PROBABILITY,
    CompositeReference,
    Proposal,
    decide,
    find_partners,
    is_one_to_one,
    propose,
)
from datahub_hyperjoin.model.config import RankingConfig
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.stages.pair_evidence import DataReader, TableKeys
from datahub_hyperjoin.stages.role_decisions import joinability_of
from datahub_hyperjoin.tables import Pair, TableId, pair_of


def find_composite_joins(
    index: LakeIndex, facts: CatalogFacts, *, reader: DataReader, ranking: RankingConfig
) -> tuple[Join, ...]:
    """Find composite joins, and verify them on the data."""
    proposals: list[Proposal] = []
    if ranking.max_key_columns > 1:
        partners = find_partners(index)
        found = reader.keys(partners.searches(ranking.max_key_columns))
        proposals = propose(partners, _with_declared_keys(found, facts, ranking.max_key_columns))
    proposals = _with_declared(proposals, index, facts)
    measured = reader.composites([proposal.pairs for proposal in proposals])
    references = decide(proposals, measured, max(ranking.min_joinability, MIN_PROBABILITY))
    joins = [_join(reference, index, facts) for reference in references]
    return tuple(join for join in joins if join.catalog.verdict is not Verdict.REJECTED)


def with_composite_joins(joins: Sequence[Join], composites: Sequence[Join]) -> tuple[Join, ...]:
    """Merge single-column joins and composite joins, and sort them best first."""
    # A part of a composite join that joins many rows to many would lead people to the wrong rows,
    # unless they decided about it.
    parts = {pair_of(*pair) for join in composites for pair in join.pairs}
    kept = {}
    for join in joins:
        pair = (join.left, join.right)
        is_decided = bool(join.catalog.verdict or join.catalog.related)
        superfluous = join.measured.cardinality is Cardinality.MANY_MANY and not is_decided
        if not (pair in parts and superfluous):
            kept[pair] = join
    # A relationship is named by its first pair of columns, so no two joins may share it.
    named = [turned for join in composites for turned in [_led_by_other(join, kept)] if turned]
    return tuple(sort_joins([*kept.values(), *named]))


def _with_declared_keys(
    found: TableKeys, facts: CatalogFacts, max_columns: int
) -> dict[TableId, list[tuple[str, ...]]]:
    """Merge each table's declared composite keys with the composite keys found in the data."""
    keys: dict[TableId, list[tuple[str, ...]]] = {}
    for key in sorted(facts.keys.composite):
        if len(key) <= max_columns:
            keys.setdefault(key[0].table, []).append(tuple(column.path for column in key))
    for table, others in found.items():
        declared = keys.setdefault(table, [])
        same = {frozenset(key) for key in declared}
        declared += [key for key in others if frozenset(key) not in same]
    return keys


def _with_declared(
    proposals: Sequence[Proposal], index: LakeIndex, facts: CatalogFacts
) -> list[Proposal]:
    """Add declared composite foreign keys to the proposed references."""
    known = set(index.lake.ids)
    declared = {
        frozenset(key.pairs): Proposal(
            pairs=tuple(sorted(key.pairs)), names=1.0, declared=key.title
        )
        for key in facts.keys.foreign
        if key.is_composite and all(column in known for pair in key.pairs for column in pair)
    }
    others = [proposal for proposal in proposals if frozenset(proposal.pairs) not in declared]
    return [*declared.values(), *others]


def _join(reference: CompositeReference, index: LakeIndex, facts: CatalogFacts) -> Join:
    """Convert a composite reference to a join."""
    distinct = {profile.id: profile.distinct for profile in index.lake.profiles}
    # The most distinct pair leads; one that consists of the same column twice must not.
    pairs = sorted(reference.pairs, key=lambda pair: (pair[0] == pair[1], -distinct[pair[1]], pair))
    left, right = pairs[0]
    join = Join(
        left=left,
        right=right,
        joinability=joinability_of(reference.probability),
        evidence=reference.evidence.evidence,
        catalog=_catalog_evidence(reference, facts),
        role=Role.ONE_TO_ONE if is_one_to_one(reference) else Role.REFERENCE,
        referenced=right,
        further=tuple(pairs[1:]),
    )
    return _sorted(join)


def _sorted(join: Join) -> Join:
    """Swap the two sides of a join if its right column sorts before its left column."""
    return join if join.left <= join.right else join.reversed


def _led_by_other(join: Join, taken: Mapping[Pair, Join]) -> Join | None:
    """Reorder a composite join so that its first pair has no single-column join in `taken`."""
    for number, (left, right) in enumerate(join.pairs):
        if pair_of(left, right) not in taken and left != right:
            others = (*join.pairs[:number], *join.pairs[number + 1 :])
            referenced = right if join.referenced == join.right else left
            return _sorted(
                replace(join, left=left, right=right, referenced=referenced, further=others)
            )
    return None


def _catalog_evidence(reference: CompositeReference, facts: CatalogFacts) -> CatalogEvidence:
    """Combine the catalog evidence of all pairs in a composite reference."""
    # DataHub's URNs take long to import, and most lakes have no join of several columns.
    from datahub_hyperjoin.metadata.relationships import catalog_evidence  # noqa: PLC0415

    return replace(
        catalog_evidence(reference.pairs, facts),
        declared=reference.declared,
        # A query joins all pairs only if it joins each of them.
        queries=min(facts.of(pair_of(*pair)).queries for pair in reference.pairs),
    )
