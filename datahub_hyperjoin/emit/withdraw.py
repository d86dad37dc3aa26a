"""Withdraw metadata that the last run wrote, but this run did not write again."""

from collections import defaultdict
from collections.abc import Iterator

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import StatusClass

from datahub_hyperjoin.emit.embeds import remove_embed
from datahub_hyperjoin.emit.patches import (
    Change,
    change_instructions,
    change_lineage,
    edge_path,
    remove_properties,
    remove_terms,
    upstream_path,
)
from datahub_hyperjoin.emit.written_state import WrittenState
from datahub_hyperjoin.metadata.urns import (
    BEST_JOIN_SCORE,
    JOIN_LINKS,
    JOIN_SUGGESTIONS,
    JOINABLE_WITH,
    SUGGESTED_JOINS,
    flat_property_urn,
    property_urn,
)
from datahub_hyperjoin.progress import Warn

_COLUMN_PROPERTIES = (JOINABLE_WITH, JOIN_SUGGESTIONS, BEST_JOIN_SCORE)
# This percentage switches the fail-safe off.
_EVERYTHING = 100.0


def withdraw(
    last: WrittenState, current: WrittenState, *, namespace: str, threshold: float, warn: Warn
) -> tuple[list[MetadataWorkUnit], WrittenState]:
    """Withdraw outdated metadata, unless it is more than `threshold` % of the last state.

    Args:
        last: The state that the last run wrote.
        current: The state that this run writes.
        namespace: Prefix of the structured properties' names.
        threshold: Largest percentage of the last state that is withdrawn. More is taken for a
            mistake, such as a missing folder, and nothing is withdrawn.
        warn: Receives a warning of such a mistake.

    Returns:
        The workunits, and the state to store. After a mistake that is the union of both states, so
        that the next run can withdraw what this one did not.
    """
    stale = _difference(last, current)
    total, removed = _size(last), _size(stale)
    if total and removed / total * 100 > threshold and threshold < _EVERYTHING:
        warn(
            "Nothing withdrawn",
            "Too many joins have disappeared since the last run. If that is correct, raise "
            "`stateful_ingestion.fail_safe_threshold`",
            f"{removed} of the {total} columns, datasets, queries, documents and lineage edges "
            f"that the last run wrote have no join now ({removed / total:.0%}); the threshold is "
            f"{threshold:g} %",
        )
        return [], current.merged_with(last)
    units = list(_remove(stale, namespace))
    return [*units, *_remove_lineage(last, current, stale)], current


def _difference(last: WrittenState, current: WrittenState) -> WrittenState:
    # An edge that remains is not stale when only its `adds_table` has changed.
    kept = {edge[:2] for edge in current.lineage}
    return WrittenState(
        columns=sorted({*last.columns} - {*current.columns}),
        datasets=sorted({*last.datasets} - {*current.datasets}),
        embeds={urn: last.embeds[urn] for urn in sorted({*last.embeds} - {*current.embeds})},
        contexts=dict.fromkeys(sorted({*last.contexts} - {*current.contexts}), ""),
        queries=sorted({*last.queries} - {*current.queries}),
        lineage=sorted(edge for edge in last.lineage if edge[:2] not in kept),
        terms={
            urn: sorted({*columns}.difference(current.terms.get(urn, ())))
            for urn, columns in last.terms.items()
        },
    )


def _size(written: WrittenState) -> int:
    urns = len(written.columns) + len(written.datasets) + len(written.queries)
    termed = sum(map(len, written.terms.values()))
    urns += len(written.embeds) + len(written.contexts)
    return urns + len(written.lineage) + termed


def _remove(stale: WrittenState, namespace: str) -> Iterator[MetadataWorkUnit]:
    """Remove or hide outdated metadata that this package wrote.

    Columns and datasets belong to their connectors, so they only lose our properties. Queries and
    documents are ours, but they are hidden rather than deleted: a link to one still leads to it.
    Relationships are left to DataHub's framework, which hides them.
    """
    properties = [property_urn(namespace, name) for name in _COLUMN_PROPERTIES]
    properties.append(flat_property_urn(namespace, JOIN_LINKS))
    for column in stale.columns:
        yield remove_properties(column, properties)
    for dataset in stale.datasets:
        yield remove_properties(dataset, [property_urn(namespace, SUGGESTED_JOINS)])
    yield from map(remove_embed, stale.embeds)
    for column in stale.contexts:
        yield change_instructions(column, "")
    terms: dict[str, list[str]] = defaultdict(list)
    for term, columns in stale.terms.items():
        for column in columns:
            terms[column].append(term)
    for column, gone in sorted(terms.items()):
        yield remove_terms(column, gone)
    for query in stale.queries:
        status = MetadataChangeProposalWrapper(entityUrn=query, aspect=StatusClass(removed=True))
        yield status.as_workunit(is_primary_source=False)


def _remove_lineage(
    last: WrittenState, current: WrittenState, stale: WrittenState
) -> Iterator[MetadataWorkUnit]:
    """Remove outdated lineage edges between columns and between datasets.

    An edge between datasets goes if this source wrote it and no current join needs it, be it that
    the joins are gone or that lineage is now written between columns only.
    """
    paths: dict[str, list[str]] = defaultdict(list)
    for edge in stale.lineage:
        paths[edge.datasets[1]].append(edge_path(edge.upstream, edge.downstream))
    for upstream, downstream in sorted(_table_edges(last) - _table_edges(current)):
        paths[downstream].append(upstream_path(upstream))
    for downstream, removed in paths.items():
        changes: list[Change] = [{"op": "remove", "path": path, "value": {}} for path in removed]
        yield change_lineage(downstream, changes)


def _table_edges(written: WrittenState) -> set[tuple[str, str]]:
    return {edge.datasets for edge in written.lineage if edge.adds_table}
