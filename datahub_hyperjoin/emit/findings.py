"""Everything a run found, in the order in which DataHub must receive it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from datahub.configuration.common import OperationalError
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.graph.client import DataHubGraph

from datahub_hyperjoin.emit.config import EmitConfig
from datahub_hyperjoin.emit.definitions import define_properties, define_tags
from datahub_hyperjoin.emit.properties import emit_column, emit_dataset, labels, partners
from datahub_hyperjoin.emit.relationships import emit_relationship
from datahub_hyperjoin.errors import RefusedError
from datahub_hyperjoin.tables import Join, Suggestion, TableId


def emit_findings(
    *,
    suggestions: Sequence[Suggestion],
    joins: Sequence[Join],
    titles: Mapping[TableId, str],
    model_version: str,
    config: EmitConfig,
    graph: DataHubGraph | None,
) -> Iterator[MetadataWorkUnit]:
    """Turns suggestions into metadata.

    Args:
        suggestions: Key by key, best first.
        joins: The same without direction, best first, with evidence.
        titles: What each table is called.
        model_version: What suggested them.
        config: Which layers to write.
        graph: The server, if there is one: definitions are committed there before any value
            is sent, since the server refuses values of properties it does not know.

    Yields:
        Relationships, then properties; before each, if there is no server, what they refer to.

    Raises:
        RefusedError: The server takes no definitions.
    """
    if config.relationships:
        yield from _define(define_tags(), graph)
        for join in joins:
            yield from emit_relationship(join, model_version)
    if config.properties:
        yield from _define(define_properties(config.namespace), graph)
        names = labels(titles)
        for column, scored in partners(suggestions, joins).items():
            yield emit_column(column, scored, names, config.namespace)
        for table, own in _by_table(joins).items():
            yield emit_dataset(table, own, names, config.namespace)


def _define(
    proposals: Iterable[MetadataChangeProposalWrapper], graph: DataHubGraph | None
) -> Iterator[MetadataWorkUnit]:
    for proposal in proposals:
        if graph is None:
            yield proposal.as_workunit(is_primary_source=False)
        else:
            _commit(proposal, graph)


def _commit(proposal: MetadataChangeProposalWrapper, graph: DataHubGraph) -> None:
    try:
        graph.emit_mcp(proposal)
    except OperationalError as error:
        reason = str(error.info.get("message") or error.message)
        raise RefusedError.definition(str(proposal.entityUrn), reason=reason) from error


def _by_table(joins: Sequence[Join]) -> dict[TableId, list[Join]]:
    found: dict[TableId, list[Join]] = defaultdict(list)
    for join in joins:
        for table in {join.left.table, join.right.table}:
            found[table].append(join)
    return dict(sorted(found.items()))
