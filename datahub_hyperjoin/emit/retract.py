"""Taking back what an earlier run wrote and this one does not find: ours, and nothing else."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import StatusClass
from typing_extensions import LiteralString

from datahub_hyperjoin.emit.patches import (
    change_lineage,
    edge_path,
    remove_properties,
    upstream_path,
)
from datahub_hyperjoin.emit.written_state import WrittenEdge, WrittenState
from datahub_hyperjoin.urns import (
    BEST_JOIN_SCORE,
    JOIN_SUGGESTIONS,
    JOINABLE_WITH,
    SUGGESTED_JOINS,
    property_urn,
)

_OF_COLUMNS = (JOINABLE_WITH, JOIN_SUGGESTIONS, BEST_JOIN_SCORE)
_EVERYTHING = 100.0


class Warner(Protocol):
    """Takes note of faults."""

    def warn(self, title: LiteralString, message: LiteralString, context: str) -> None:
        """Names a fault that the run goes on without."""


def retract(
    last: WrittenState, current: WrittenState, *, namespace: str, threshold: float, report: Warner
) -> tuple[list[MetadataWorkUnit], WrittenState]:
    """What takes back the difference of two runs.

    Args:
        last: What the last run wrote.
        current: What this one writes.
        namespace: What the properties' names begin with.
        threshold: The largest percentage of what was written that is taken back. More is taken for
            a mistake, such as a folder that was not there.
        report: Is told of such a mistake.

    Returns:
        The workunits, and the ledger to keep: if nothing is taken back for a mistake's sake, it
        goes on holding what the last one held.
    """
    stale = _difference(last, current)
    written, gone = _size(last), _size(stale)
    if written and gone / written * 100 > threshold and threshold < _EVERYTHING:
        report.warn(
            "Nothing taken back",
            "Much more is gone than is likely. If that is right, raise "
            "`stateful_ingestion.fail_safe_threshold`",
            f"{gone} of the {written} columns, datasets, queries and edges that the last run wrote "
            f"are not found again, {gone / written:.0%}; the threshold is {threshold:g} %",
        )
        return [], current.joined(last)
    return list(_take_back(stale, current, namespace)), current


def _difference(last: WrittenState, current: WrittenState) -> WrittenState:
    kept = {edge[:2] for edge in current.lineage}
    return WrittenState(
        columns=sorted({*last.columns} - {*current.columns}),
        datasets=sorted({*last.datasets} - {*current.datasets}),
        queries=sorted({*last.queries} - {*current.queries}),
        lineage=sorted(edge for edge in last.lineage if edge[:2] not in kept),
    )


def _size(ledger: WrittenState) -> int:
    urns = len(ledger.columns) + len(ledger.datasets) + len(ledger.queries)
    return urns + len(ledger.lineage)


def _take_back(
    stale: WrittenState, current: WrittenState, namespace: str
) -> Iterator[MetadataWorkUnit]:
    of_columns = [property_urn(namespace, name) for name in _OF_COLUMNS]
    for column in stale.columns:
        yield remove_properties(column, of_columns)
    for dataset in stale.datasets:
        yield remove_properties(dataset, [property_urn(namespace, SUGGESTED_JOINS)])
    for query in stale.queries:
        # Hidden, not deleted: who follows a link to it still finds it.
        status = MetadataChangeProposalWrapper(entityUrn=query, aspect=StatusClass(removed=True))
        yield status.as_workunit(is_primary_source=False)
    used = {edge.parents for edge in current.lineage}
    for downstream, edges in _by_downstream(stale.lineage).items():
        yield change_lineage(downstream, list(_remove(edges, used)))


def _by_downstream(edges: Sequence[WrittenEdge]) -> dict[str, list[WrittenEdge]]:
    found: dict[str, list[WrittenEdge]] = defaultdict(list)
    for edge in edges:
        found[edge.parents[1]].append(edge)
    return found


def _remove(edges: Sequence[WrittenEdge], used: set[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    for edge in edges:
        path = edge_path(edge.upstream, edge.downstream)
        yield {"op": "remove", "path": path, "value": {}}
    ours = {edge.parents for edge in edges if edge.coarse} - used
    for upstream, _ in sorted(ours):
        yield {"op": "remove", "path": upstream_path(upstream), "value": {}}
