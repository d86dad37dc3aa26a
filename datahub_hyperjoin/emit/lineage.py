"""Write joins as lineage, from the unique column to the one that refers to it, without cycles."""

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
from datahub.metadata.urns import SchemaFieldUrn
from datahub.utilities.urns.error import InvalidUrnError
from typing_extensions import assert_never

from datahub_hyperjoin.emit.patches import change_lineage, edge_path, upstream_path
from datahub_hyperjoin.joins import Cardinality, Join
from datahub_hyperjoin.tables import ColumnId, TableId
from datahub_hyperjoin.urns import AUTHOR, column_urn, dataset_urn


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A join with a direction."""

    upstream: ColumnId
    """The referenced column; its values are unique."""

    downstream: ColumnId
    """The referring column."""

    confidence: float
    """The joinability. DataHub stores only the lowest one of all edges into a column."""

    adds_table: bool
    """Whether the edge between the two tables exists because of this join, so that it is removed
    with the last such join of these tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """The joins that can be written as lineage."""

    edges: tuple[Edge, ...] = ()
    """Best first."""

    skipped_cycles: int = 0
    """Number of joins that were skipped because they would have closed a cycle."""


def reference(join: Join) -> tuple[ColumnId, ColumnId] | None:
    """Return the referring column of a join and the column that it refers to.

    Args:
        join: The join.

    Returns:
        The referring column, then the referenced column, whose values are unique. If both are
        unique, the column that contains more of the other's values is referenced. None if neither
        is unique.
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
    """Return the dataset of a column; None if the URN is not that of a column."""
    try:
        return SchemaFieldUrn.from_string(urn).parent
    except InvalidUrnError:
        return None


def _flows(upstreams: Mapping[str, UpstreamLineageClass]) -> "nx.DiGraph[str]":
    """Build a directed graph of datasets from their lineage; edges lead downstream."""
    flows: nx.DiGraph[str] = nx.DiGraph()
    for downstream, lineage in upstreams.items():
        flows.add_edges_from((upstream.dataset, downstream) for upstream in lineage.upstreams)
        for edge in lineage.fineGrainedLineages or ():
            parents = filter(None, map(_parent, edge.upstreams or ()))
            flows.add_edges_from((parent, downstream) for parent in parents)
    return flows


def direct_joins(joins: Iterable[Join], upstreams: Mapping[str, UpstreamLineageClass]) -> Lineage:
    """Give joins a direction, starting with the best, and skip joins that would close a cycle.

    Many-to-many joins and joins of a table with itself have no direction.

    The graph of data flows starts with the lineage of others and grows by each accepted join. A
    join from table A to table B closes a cycle exactly if the graph has a path from B to A. Each
    join costs one search of the graph.

    Args:
        joins: The joins, in any order.
        upstreams: Lineage that others wrote, by the URN of the downstream dataset. Only cycles
            through these datasets are seen.

    Returns:
        The edges, and the number of joins that were skipped because of cycles.
    """
    flows = _flows(upstreams)
    existing = {
        (upstream.dataset, downstream)
        for downstream, lineage in upstreams.items()
        for upstream in lineage.upstreams
    }
    edges, skipped = [], 0
    for join in sorted(joins, key=lambda join: (-join.joinability, join.left, join.right)):
        ends = reference(join)
        if ends is None or join.left.table == join.right.table:
            continue
        downstream, upstream = ends
        step = (dataset_urn(upstream.table), dataset_urn(downstream.table))
        flows.add_nodes_from(step)
        if nx.has_path(flows, step[1], step[0]):
            skipped += 1
            continue
        flows.add_edge(*step)
        edges.append(
            Edge(
                upstream=upstream,
                downstream=downstream,
                confidence=round(join.joinability, 4),
                # Our edge would replace an existing one between the same tables.
                adds_table=step not in existing,
            )
        )
    return Lineage(edges=tuple(edges), skipped_cycles=skipped)


def _table_change(upstream: TableId) -> dict[str, Any]:
    urn = dataset_urn(upstream)
    added = UpstreamClass(
        dataset=urn,
        type=DatasetLineageTypeClass.TRANSFORMED,
        # DataHub shows an edge with time 0 in lineage of every period.
        auditStamp=AuditStampClass(time=0, actor=AUTHOR),
    )
    value = pre_json_transform(added.to_obj())
    return {"op": "add", "path": upstream_path(urn), "value": value}


def _column_change(edge: Edge) -> dict[str, Any]:
    path = edge_path(column_urn(edge.upstream), column_urn(edge.downstream))
    return {"op": "add", "path": path, "value": {"confidenceScore": edge.confidence}}


def emit_lineage(edges: Iterable[Edge]) -> Iterator[MetadataWorkUnit]:
    """Write lineage as patches, which keep all other lineage.

    Args:
        edges: The edges of `direct_joins`.

    Yields:
        One patch for each downstream table.
    """
    by_table: dict[TableId, list[Edge]] = defaultdict(list)
    for edge in edges:
        by_table[edge.downstream.table].append(edge)
    for table, incoming in sorted(by_table.items()):
        added = sorted({edge.upstream.table for edge in incoming if edge.adds_table})
        ordered = sorted(incoming, key=lambda edge: (edge.downstream, edge.upstream))
        changes = [*map(_table_change, added), *map(_column_change, ordered)]
        yield change_lineage(dataset_urn(table), changes)
