"""Joins as lineage: from the unique column to the one that refers to it, never in a circle."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import networkx as nx
from datahub.emitter.serialization_helper import pre_json_transform
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import (
    AuditStampClass,
    DatasetLineageTypeClass,
    UpstreamClass,
    UpstreamLineageClass,
)
from datahub.metadata.urns import CorpUserUrn, SchemaFieldUrn
from datahub.utilities.urns.error import InvalidUrnError
from typing_extensions import assert_never

from datahub_hyperjoin.emit.patches import change_lineage, edge_path, upstream_path
from datahub_hyperjoin.tables import Cardinality, ColumnId, Join, TableId
from datahub_hyperjoin.urns import column_urn, dataset_urn


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A join in a direction."""

    upstream: ColumnId
    """The column that the other one refers to; its values are unique."""

    downstream: ColumnId
    """The column that refers."""

    confidence: float
    """The joinability. DataHub keeps one number, the least, for all that a column refers to."""

    adds_table: bool
    """Whether the edge between the two tables is there because of this join: it must go when the
    last such join of the two goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """The joins that can be lineage."""

    edges: tuple[Edge, ...] = ()
    """Best first."""

    circular: int = 0
    """Joins left out, because they would have led back to where lineage comes from."""


def reference(join: Join) -> tuple[ColumnId, ColumnId] | None:
    """Which of two columns refers to which.

    Args:
        join: The join.

    Returns:
        The column that refers, and the one it refers to, whose values are unique; of two unique
        columns, the one that holds more of the other's values is referred to. None if no values are
        unique.
    """
    left, right = join.left, join.right
    match join.evidence.cardinality:
        case Cardinality.ONE_MANY:
            return right, left
        case Cardinality.MANY_ONE:
            return left, right
        case Cardinality.ONE_ONE:
            within_right = join.evidence.left_containment > join.evidence.right_containment
            return (left, right) if within_right else (right, left)
        case Cardinality.MANY_MANY:
            return None
    assert_never(join.evidence.cardinality)


def _parent(urn: str) -> str | None:
    """The dataset of a column; lineage may start from other things too."""
    try:
        return SchemaFieldUrn.from_string(urn).parent
    except InvalidUrnError:
        return None


def _flows(existing: Mapping[str, UpstreamLineageClass]) -> "nx.DiGraph[str]":
    """Which dataset flows into which."""
    flows: nx.DiGraph[str] = nx.DiGraph()
    for downstream, lineage in existing.items():
        flows.add_edges_from((upstream.dataset, downstream) for upstream in lineage.upstreams)
        for edge in lineage.fineGrainedLineages or ():
            parents = filter(None, map(_parent, edge.upstreams or ()))
            flows.add_edges_from((parent, downstream) for parent in parents)
    return flows


def direct(joins: Iterable[Join], existing: Mapping[str, UpstreamLineageClass]) -> Lineage:
    """Gives joins a direction, the best first, and leaves out what would close a circle.

    Joins of many with many, and those of a table with itself, have no direction.

    Args:
        joins: What was found.
        existing: The lineage that the catalog has without us, by the downstream dataset's urn. Only
            circles through these datasets are seen.

    Returns:
        The edges, and how many joins were left out because of circles.
    """
    flows = _flows(existing)
    listed = {
        (upstream.dataset, downstream)
        for downstream, lineage in existing.items()
        for upstream in lineage.upstreams
    }
    edges, circular = [], 0
    for join in sorted(joins, key=lambda join: (-join.joinability, join.left, join.right)):
        ends = reference(join)
        if ends is None or join.left.table == join.right.table:
            continue
        downstream, upstream = ends
        step = (dataset_urn(upstream.table), dataset_urn(downstream.table))
        flows.add_nodes_from(step)
        if nx.has_path(flows, step[1], step[0]):
            circular += 1
            continue
        flows.add_edge(*step)
        edges.append(
            Edge(
                upstream=upstream,
                downstream=downstream,
                confidence=round(join.joinability, 4),
                adds_table=step not in listed,
            )
        )
    return Lineage(edges=tuple(edges), circular=circular)


def _table_change(upstream: TableId) -> dict[str, Any]:
    urn = dataset_urn(upstream)
    added = UpstreamClass(
        dataset=urn,
        type=DatasetLineageTypeClass.TRANSFORMED,
        # DataHub counts an edge without a time to every period that lineage is looked at in.
        auditStamp=AuditStampClass(time=0, actor=CorpUserUrn("_ingestion").urn()),
    )
    value = pre_json_transform(added.to_obj())
    return {"op": "add", "path": upstream_path(urn), "value": value}


def _column_change(edge: Edge) -> dict[str, Any]:
    path = edge_path(column_urn(edge.upstream), column_urn(edge.downstream))
    return {"op": "add", "path": path, "value": {"confidenceScore": edge.confidence}}


def emit_lineage(edges: Iterable[Edge]) -> Iterator[MetadataWorkUnit]:
    """Lineage as patches, which leave all other lineage alone.

    Args:
        edges: What `direct` made of the joins.

    Yields:
        One patch for each downstream table.
    """
    by_table: dict[TableId, list[Edge]] = defaultdict(list)
    for edge in edges:
        by_table[edge.downstream.table].append(edge)
    for table, own in sorted(by_table.items()):
        added = sorted({edge.upstream.table for edge in own if edge.adds_table})
        ordered = sorted(own, key=lambda edge: (edge.downstream, edge.upstream))
        changes = [*map(_table_change, added), *map(_column_change, ordered)]
        yield change_lineage(dataset_urn(table), changes)
