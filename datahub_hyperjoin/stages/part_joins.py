"""Find joins by parts of cells and by ids of a type, and verify them on the data."""

from collections.abc import Sequence
from itertools import chain

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.cell_parts import CellParts, PartKind
from datahub_hyperjoin.joins import (
    Cardinality,
    CatalogEvidence,
    Evidence,
    Join,
    Role,
    Verdict,
    sort_joins,
)
from datahub_hyperjoin.model.cell_parts import PartProposal, propose_parts
from datahub_hyperjoin.model.config import RankingConfig
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.roles.words import TYPE_WORDS
from datahub_hyperjoin.stages.pair_evidence import DataReader
from datahub_hyperjoin.tables import pair_of

_MIN_CONTAINMENT = 0.9
"""Least share of the parts that the other column must hold; of all parts, chance holds few."""
_BY_VALUES, _BY_NAMES = 0.6, 0.15
"""Probability of a join by parts whose values alone speak for it, and its increase for equal names.
The sum is below what plain joins have whose names and values say as much."""
_MIN_GAIN = 1.02
"""How many times more rows parts must join than whole cells do."""


def add_part_joins(
    joins: Sequence[Join], facts: CatalogFacts, reader: DataReader, ranking: RankingConfig
) -> tuple[Join, ...]:
    """Add joins by elements of lists, prefixed numbers, several columns in one and ids of a type.

    They replace the joins of the same columns as a whole that reach fewer rows. Columns whose ids
    are those of several types have no join without a type, unless the catalog tells of it.
    """
    proposals = {(each.pairs, each.parts): each for each in _propose(reader.index)}
    if not proposals:
        return (*joins,)
    measured = reader.parts([*proposals]).items()
    found = [join for way, evidence in measured if (join := _join(proposals[way], evidence, facts))]
    typed = {join.referring for join in found if _has_type(join)}
    known = {
        (join.left, join.right): join
        for join in joins
        if join.catalog.is_confirmed or typed.isdisjoint((join.left, join.right))
    }
    for join in found:
        if join.joinability >= ranking.min_joinability:
            before = known.get((join.left, join.right))
            if before is None or join.measured.rows >= _MIN_GAIN * before.measured.rows:
                known[join.left, join.right] = join
    return tuple(sort_joins(known.values()))


def _propose(index: LakeIndex) -> list[PartProposal]:
    proposals = propose_parts(index)
    if not TYPE_WORDS.isdisjoint(chain.from_iterable(index.lake.column_words)):
        # Most lakes have no column of types.
        from datahub_hyperjoin.model.typed_ids import propose_typed_ids  # noqa: PLC0415

        proposals += propose_typed_ids(index)
    return proposals


def _has_type(join: Join) -> bool:
    parts = CellParts.read(join.measured.compared_as)
    return parts is not None and parts.kind is PartKind.OF_TYPE


def _join(proposal: PartProposal, evidence: Evidence, facts: CatalogFacts) -> Join | None:
    """Convert a proposal to a reference; None if the data refutes it."""
    (column, other), *further = proposal.pairs
    catalog = _catalog_evidence(proposal, facts)
    # Each element of a list refers to one row, although a list has several.
    is_list = proposal.parts.kind is PartKind.ELEMENTS
    refers = evidence.left_containment >= _MIN_CONTAINMENT and (
        is_list or evidence.cardinality in {Cardinality.MANY_ONE, Cardinality.ONE_ONE}
    )
    is_key = evidence.right_containment >= _MIN_CONTAINMENT and (
        not is_list and evidence.cardinality is Cardinality.ONE_MANY
    )
    if catalog.verdict is Verdict.REJECTED or not (refers or is_key):
        return None
    join = Join(
        left=column,
        right=other,
        joinability=_BY_VALUES + _BY_NAMES * proposal.names,
        evidence=evidence,
        catalog=catalog,
        role=Role.REFERENCE,
        referenced=other if refers else column,
        further=tuple(further),
    )
    return join if join.left <= join.right else join.reversed


def _catalog_evidence(proposal: PartProposal, facts: CatalogFacts) -> CatalogEvidence:
    if len(proposal.pairs) == 1:
        return facts.of(pair_of(*proposal.pairs[0]))
    # DataHub's URNs take long to import, and most lakes have no join of several columns.
    from datahub_hyperjoin.metadata.relationships import catalog_evidence  # noqa: PLC0415

    return catalog_evidence(proposal.pairs, facts)
