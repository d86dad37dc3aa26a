"""Find and verify joins through crosswalks."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

import numpy as np

from datahub_hyperjoin.joins import (
    Bridge,
    CrosswalkJoin,
    Evidence,
    Join,
    Role,
    Suggestion,
    best_scores,
    note_crosswalk,
)
from datahub_hyperjoin.model.hypergraph.lake_index import LakeIndex
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.stages.pair_evidence import DataReader
from datahub_hyperjoin.tables import ColumnId, Pair

_MIN_GAIN = 2.0
"""Minimum ratio of the containment through a crosswalk to the containment of the direct join. At
this ratio, the direct join misses most of the rows."""


def measure_with_crosswalks(
    pairs: Sequence[Pair], reader: DataReader
) -> tuple[dict[Pair, Evidence], dict[Bridge, Evidence]]:
    """Measure pairs and the steps of crosswalks on the data, and the pairs through crosswalks."""
    bridges = _list_bridges(reader.index, pairs)
    steps = {step for bridge in bridges for step in bridge.steps}
    # Steps and pairs are verified together, so that each table is read once.
    return reader.pairs(sorted(steps.union(pairs))), reader.bridges(bridges)


def _list_bridges(index: LakeIndex, pairs: Sequence[Pair]) -> tuple[Bridge, ...]:
    """List the pairs that a crosswalk connects, each with the crosswalk's columns."""
    ids, number = index.lake.ids, index.lake.index_of
    ends = np.array([[number[end] for end in pair] for pair in pairs], dtype=np.int64)
    via = index.crosswalks.steps(*ends.reshape(-1, 2).T).tolist()
    return tuple(
        Bridge(left, ids[first], ids[second], right)
        for (left, right), (first, second) in zip(pairs, via, strict=True)
        if first >= 0
    )


def choose_evidence(
    direct: Mapping[Pair, Evidence],
    bridged: Mapping[Bridge, Evidence],
    *,
    accepted: AbstractSet[Pair],
) -> dict[Pair, Evidence]:
    """Choose the evidence of each pair: measured directly, or measured through a crosswalk."""
    # A crosswalk alone does not make joins. Country codes and country names also keep their direct
    # evidence, because people know what countries are.
    chosen = dict(direct)
    for bridge, evidence in bridged.items():
        own = chosen.get(bridge.pair) if bridge.pair in accepted else None
        if own and not own.compared_as and _reaches_more(evidence, own):
            chosen[bridge.pair] = note_crosswalk(bridge, evidence)
    return chosen


def _adds_to(own: Evidence, bridged: Evidence) -> bool:
    """Return whether to show a join through a crosswalk in addition to the direct join."""
    if own.compared_as:
        # Countries and other entities have no SQL but the crosswalk's, which should be about them.
        return bridged.rows * _MIN_GAIN >= own.rows
    return _reaches_more(bridged, own)


def _reaches_more(bridged: Evidence, own: Evidence) -> bool:
    return bridged.containment > _MIN_GAIN * own.containment


def with_crosswalks(joins: Iterable[Join], crosswalks: Iterable[CrosswalkJoin]) -> tuple[Join, ...]:
    """Add the crosswalk's columns to each join that has a crosswalk."""
    bridges = {crosswalk.bridge.pair: crosswalk.bridge for crosswalk in crosswalks}
    return tuple(
        replace(join, via=(bridge.left_via, bridge.right_via)) if bridge else join
        for join in joins
        for bridge in [bridges.get((join.left, join.right))]
    )


def collect_crosswalk_joins(
    lake: Lake,
    ranked: Iterable[Suggestion],
    direct: Mapping[Pair, Evidence],
    bridged: Mapping[Bridge, Evidence],
    joins: Collection[Join],
    *,
    min_containment: float,
) -> tuple[CrosswalkJoin, ...]:
    """Build the two-step joins that the data confirms."""
    # Columns with common values need no crosswalk, unless it reaches far more of their values.
    scores, joined = best_scores(ranked), {pair for join in joins for pair in join.pairs}
    keyed = [join for join in joins if join.role is not Role.SAME_DOMAIN]
    tables = {(join.left.table, join.right.table) for join in keyed}
    personal = {profile.id for profile in lake.profiles if profile.personal}
    found = [
        CrosswalkJoin(
            bridge=bridge,
            joinability=scores[bridge.pair],
            left_step=_read_from(bridge.left, direct[left], left),
            right_step=_read_from(bridge.right_via, direct[right], right),
            evidence=evidence,
        )
        for bridge, evidence in bridged.items()
        for left, right in [bridge.steps]
        for own in [direct.get(bridge.pair)]
        # A pair may be measured only since one column may refer to the other. Without evidence for
        # both steps, a join is not verified.
        if bridge.pair in scores and left in direct and right in direct
        # Codes of three letters that are no join are no step either.
        if bridge.pair in joined or joined.issuperset(bridge.steps)
        # A key says better what joins two tables than a detour, and e-mail addresses are no codes.
        if bridge.pair in joined or (bridge.left.table, bridge.right.table) not in tables
        if personal.isdisjoint((bridge.left_via, bridge.right_via))
        if own is None or _adds_to(own, evidence)
    ]
    return tuple(
        sorted(
            (join for join in found if join.containment >= min_containment),
            key=lambda join: (-join.joinability, join.bridge),
        )
    )


def _read_from(first: ColumnId, evidence: Evidence, pair: Pair) -> Evidence:
    """Return the evidence of a pair, with a given column on the left."""
    return evidence if pair[0] == first else evidence.reversed
