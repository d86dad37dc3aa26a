"""Write joins as lineage, from the referenced column to the referring column."""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from datahub.emitter.serialization_helper import pre_json_transform
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import (
    AuditStampClass,
    DatasetLineageTypeClass,
    UpstreamClass,
    UpstreamLineageClass,
    _Aspect,
)
from datahub.metadata.urns import SchemaFieldUrn
from datahub.utilities.urns.error import InvalidUrnError
from typing_extensions import override

from datahub_hyperjoin.catalog.written_state import WrittenEdge, WrittenState
from datahub_hyperjoin.emit.config import LineageForm
from datahub_hyperjoin.emit.layer import Layer, Withdrawal, Writing
from datahub_hyperjoin.emit.patches import (
    JOINABLE,
    Change,
    addition,
    change_lineage,
    edge_path,
    removal,
    upstream_path,
)
from datahub_hyperjoin.emit.queries import query_of
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.metadata.urns import AUTHOR, column_urn, dataset_urn
from datahub_hyperjoin.tables import ColumnId, TableId

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A lineage edge that represents a join."""

    upstream: ColumnId
    downstream: ColumnId
    confidence: float
    """The joinability. Of all edges into a column, DataHub stores only the lowest confidence."""

    adds_table: bool
    """Whether this source also writes an edge between the two tables. The source withdraws the edge
    once no join needs it."""

    query: str | None = None
    """URN of the `query` with the SQL of the join, if there is one. On an edge between two tables,
    DataHub shows the `query` of their best join."""


def _parent(urn: str) -> str | None:
    try:
        return SchemaFieldUrn.from_string(urn).parent
    except InvalidUrnError:
        return None


def _flows(upstreams: Mapping[str, UpstreamLineageClass]) -> "nx.DiGraph[str]":
    import networkx as nx  # noqa: PLC0415 (a tenth of a second, and few recipes write lineage)

    flows: nx.DiGraph[str] = nx.DiGraph()
    for downstream, lineage in upstreams.items():
        flows.add_edges_from((upstream.dataset, downstream) for upstream in lineage.upstreams)
        for edge in lineage.fineGrainedLineages or ():
            parents = filter(None, map(_parent, edge.upstreams or ()))
            flows.add_edges_from((parent, downstream) for parent in parents)
    return flows


def build_lineage(
    joins: Iterable[Join],
    upstreams: Mapping[str, UpstreamLineageClass],
    *,
    form: LineageForm = LineageForm.DASHED,
    queries: Container[str] = (),
) -> tuple[list[Edge], int]:
    """Convert directed joins to lineage edges, and count those that would close a cycle."""
    # The edges lead from the referenced to the referring column.
    # A join that would close a cycle is left out. The best joins are converted first. Joins
    # whose role has no direction and joins of a table with itself are no lineage. A composite
    # key becomes one edge for each pair of its columns.
    # The graph of data flows starts with the lineage of others and grows by each accepted
    # join. A join from table A to table B closes a cycle exactly if the graph has a path from
    # B to A. Each join costs one search of the graph.
    import networkx as nx  # noqa: PLC0415 (as above)

    flows = _flows(upstreams)
    existing = {
        (upstream.dataset, downstream)
        for downstream, lineage in upstreams.items()
        for upstream in lineage.upstreams
    }
    edges, skipped = list[Edge](), 0
    for join in sorted(joins, key=lambda join: (-join.joinability, join.left, join.right)):
        guessed = join.evidence is None and not join.catalog.is_confirmed
        if join.referenced is None or guessed or join.left.table == join.right.table:
            continue
        pairs = join.directed_pairs
        downstream, upstream = pairs[0]
        step = (dataset_urn(upstream.table), dataset_urn(downstream.table))
        # `has_path` refuses nodes that the graph does not have.
        flows.add_nodes_from(step)
        if nx.has_path(flows, step[1], step[0]):
            skipped += 1
            continue
        flows.add_edge(*step)
        query = query_of(join)
        edges.extend(
            Edge(
                upstream=referenced,
                downstream=referring,
                confidence=round(join.joinability, 4),
                # Our edge would replace an existing one between the same tables.
                adds_table=form.joins_tables and step not in existing,
                query=query if query in queries else None,
            )
            for referring, referenced in pairs
        )
    return edges, skipped


def _table_change(edge: Edge) -> Change:
    urn = dataset_urn(edge.upstream.table)
    added = UpstreamClass(
        dataset=urn,
        type=DatasetLineageTypeClass.TRANSFORMED,
        # DataHub draws an edge dashed if a person drew it in its pages. No other property is shown.
        properties={"source": "UI"},
        query=edge.query,
        # DataHub shows an edge with time 0 in lineage of every period.
        auditStamp=AuditStampClass(time=0, actor=AUTHOR),
    )
    return addition(upstream_path(urn), pre_json_transform(added.to_obj()))


def emit_lineage(edges: Iterable[Edge]) -> Iterator[MetadataWorkUnit]:
    """Yield patches that add lineage edges and keep all other lineage."""
    of_table: dict[TableId, list[Edge]] = defaultdict(list)
    for edge in edges:
        of_table[edge.downstream.table].append(edge)
    for table, incoming in sorted(of_table.items()):
        # The best join of two tables comes first, and its query is that of their edge.
        added = {edge.upstream.table: edge for edge in reversed(incoming) if edge.adds_table}
        changes = [_table_change(added[upstream]) for upstream in sorted(added)]
        for edge in sorted(incoming, key=lambda edge: (edge.downstream, edge.upstream)):
            path = edge_path(column_urn(edge.upstream), column_urn(edge.downstream))
            changes.append(addition(path, {"confidenceScore": edge.confidence}))
        yield change_lineage(dataset_urn(table), changes)


def without_ours(
    lineage: UpstreamLineageClass, edges: Iterable[WrittenEdge], downstream: str
) -> UpstreamLineageClass:
    """Return a dataset's lineage without the edges that this source wrote."""
    ours = {edge.datasets for edge in edges if edge.adds_table}
    return UpstreamLineageClass(
        upstreams=[edge for edge in lineage.upstreams if (edge.dataset, downstream) not in ours],
        fineGrainedLineages=[
            edge
            for edge in lineage.fineGrainedLineages or ()
            if edge.transformOperation != JOINABLE
        ],
    )


_FORM = ("properties", "query")
"""Fields that determine how DataHub draws a lineage edge between two tables."""


def drop_foreign(lineage: _Aspect | None, changes: Iterable[Change]) -> list[Change]:
    """Drop lineage changes that would overwrite or remove an edge that others wrote."""
    # Only edges between datasets are checked. An existing edge has the meaning of ours, so
    # one of ours is overwritten only if DataHub would draw it otherwise. A connector may have
    # written its own edge in the same position since the last run.
    upstreams = lineage.upstreams if isinstance(lineage, UpstreamLineageClass) else ()
    present = {upstream_path(edge.dataset): edge for edge in upstreams}
    return [
        change
        for change in changes
        if not change["path"].startswith("/upstreams/")
        or _is_ours_to_change(present.get(change["path"]), change)
    ]


def _is_ours_to_change(edge: UpstreamClass | None, change: Change) -> bool:
    if edge is None:
        return change["op"] != "remove"
    if edge.auditStamp.actor != AUTHOR:
        return False
    value = change["value"]
    return change["op"] == "remove" or any(
        (getattr(edge, name) or None) != (value.get(name) or None) for name in _FORM
    )


def is_patchable(lineage: _Aspect | None) -> bool:
    """Return whether the server can patch a dataset's lineage."""
    # Each edge between columns must lead to exactly one column.
    edges = lineage.fineGrainedLineages if isinstance(lineage, UpstreamLineageClass) else None
    return all(len(edge.downstreams or ()) == 1 for edge in edges or ())


class JoinLineage(Layer):
    """Directed joins as lineage, from the referenced column to the referring column."""

    key = "lineage"
    needs: ClassVar = {"dataset": ("upstreamLineage",)}
    fields = ("lineage",)
    per_table = 0.5

    @override
    def write(self, run: Writing) -> Iterator[MetadataWorkUnit]:
        if not run.config.lineage:
            return
        edges, skipped = build_lineage(
            run.publication.linking,
            run.existing.upstreams,
            form=run.config.lineage,
            queries=frozenset(run.written.queries),
        )
        run.count("joins_skipped_as_lineage_cycles", skipped)
        yield from emit_lineage(edges)
        run.written.lineage += [
            WrittenEdge(column_urn(edge.upstream), column_urn(edge.downstream), edge.adds_table)
            for edge in edges
        ]

    @override
    def withdraw(self, gone: Withdrawal) -> Iterator[MetadataWorkUnit]:
        # An edge between datasets goes if this source wrote it and no current join needs it, be it
        # that the joins are gone or that lineage is now written between columns only.
        paths: dict[str, list[str]] = defaultdict(list)
        for edge in gone.stale.lineage:
            paths[edge.datasets[1]].append(edge_path(edge.upstream, edge.downstream))
        for upstream, downstream in sorted(_table_edges(gone.last) - _table_edges(gone.current)):
            paths[downstream].append(upstream_path(upstream))
        for downstream, removed in paths.items():
            yield change_lineage(downstream, [*map(removal, removed)])


def _table_edges(written: WrittenState) -> set[tuple[str, str]]:
    return {edge.datasets for edge in written.lineage if edge.adds_table}
