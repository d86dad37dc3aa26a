"""Find joins by parts of cells, and verify them on the data."""

from collections.abc import Sequence

from datahub_hyperjoin.catalog_facts import CatalogFacts
from datahub_hyperjoin.cell_parts import PartKind
from datahub_hyperjoin.joins import Cardinality, Evidence, Join, Role, Verdict, sort_joins
from datahub_hyperjoin.model.cell_parts import PartProposal, propose_parts
from datahub_hyperjoin.model.config import RankingConfig
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
    """Add joins by elements of lists, prefixed numbers and several columns in one.

    They replace the joins of the same columns as a whole that reach fewer rows.
    """
    proposals = {(each.pairs, each.parts): each for each in propose_parts(reader.index)}
    if not proposals:
        return (*joins,)
    known = {(join.left, join.right): join for join in joins}
    for way, evidence in reader.parts([*proposals]).items():
        join = _join(proposals[way], evidence, facts)
        if join and join.joinability >= ranking.min_joinability:
            before = known.get((join.left, join.right))
            if before is None or join.measured.rows >= _MIN_GAIN * before.measured.rows:
                known[join.left, join.right] = join
    return tuple(sort_joins(known.values()))


def _join(proposal: PartProposal, evidence: Evidence, facts: CatalogFacts) -> Join | None:
    """Convert a proposal to a reference; None if the data refutes it."""
    (column, other), *further = proposal.pairs
    catalog = facts.of(pair_of(column, other))
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
