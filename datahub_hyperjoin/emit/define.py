"""Create the structured properties and tags that other metadata refers to."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from datahub.configuration.common import OperationalError
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.graph.client import DataHubGraph
from requests import RequestException

from datahub_hyperjoin.client_errors import explain
from datahub_hyperjoin.emit.errors import RefusedError


def create_missing_definitions(
    proposals: Iterable[MetadataChangeProposalWrapper], graph: DataHubGraph | None
) -> Iterator[MetadataWorkUnit]:
    """Create the structured properties and tags that do not exist yet.

    Args:
        graph: DataHub's server. Definitions that it has are kept, since a person may have changed
            them. The others are committed at once, because the server rejects metadata that refers
            to an unknown definition. None if the run has no server.
    """
    if graph is None:
        for proposal in proposals:
            yield proposal.as_workunit(is_primary_source=False)
        return
    wanted = list(proposals)
    existing = _read_existing(wanted, graph)
    for proposal in wanted:
        if (proposal.entityUrn, proposal.aspectName) not in existing:
            _commit(proposal, graph)


def _read_existing(
    proposals: Iterable[MetadataChangeProposalWrapper], graph: DataHubGraph
) -> set[tuple[str | None, str | None]]:
    """Return the URN and aspect name of each proposed aspect that the server already has.

    The set may be incomplete if the server cannot be read. That does no harm, because each proposal
    only creates: the server keeps an aspect that it has.
    """
    existing: set[tuple[str | None, str | None]] = set()
    for entity_type, group in groupby(proposals, key=lambda proposal: proposal.entityType):
        members = list(group)
        urns = sorted({str(proposal.entityUrn) for proposal in members})
        names = sorted({str(proposal.aspectName) for proposal in members})
        try:
            entities = graph.get_entities(entity_type, urns, names)
        except (RequestException, ValueError, TypeError):
            continue
        existing.update((urn, name) for urn, aspects in entities.items() for name in aspects)
    return existing


def _commit(proposal: MetadataChangeProposalWrapper, graph: DataHubGraph) -> None:
    try:
        graph.emit_mcp(proposal)
    except OperationalError as error:
        reason = explain(error, graph.config.token)
        raise RefusedError.definition(str(proposal.entityUrn), reason=reason) from error
