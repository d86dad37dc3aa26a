"""Definitions that must be there before anything that refers to them."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from datahub.configuration.common import OperationalError
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.graph.client import DataHubGraph
from requests import RequestException

from datahub_hyperjoin.errors import RefusedError


def define(
    proposals: Iterable[MetadataChangeProposalWrapper], graph: DataHubGraph | None
) -> Iterator[MetadataWorkUnit]:
    """Defines what is not defined yet.

    Args:
        proposals: One for each aspect of each definition.
        graph: The server, if there is one. What it has already, changed by a person perhaps, is not
            written again; the rest is committed at once, since it refuses what refers to something
            that it does not know.

    Yields:
        Without a server, all of them.

    Raises:
        RefusedError: The server takes no definitions.
    """
    if graph is None:
        for proposal in proposals:
            yield proposal.as_workunit(is_primary_source=False)
        return
    wanted = list(proposals)
    present = _present(wanted, graph)
    for proposal in wanted:
        if (proposal.entityUrn, proposal.aspectName) not in present:
            _commit(proposal, graph)


def _present(
    proposals: Iterable[MetadataChangeProposalWrapper], graph: DataHubGraph
) -> set[tuple[str | None, str | None]]:
    """Which aspects the server has; none, if it does not say: it keeps what it has by itself."""
    found: set[tuple[str | None, str | None]] = set()
    for entity, own in groupby(proposals, key=lambda proposal: proposal.entityType):
        asked = list(own)
        urns = sorted({str(proposal.entityUrn) for proposal in asked})
        aspects = sorted({str(proposal.aspectName) for proposal in asked})
        try:
            entities = graph.get_entities(entity, urns, aspects)
        except (RequestException, ValueError):
            continue
        found.update((urn, name) for urn, own_aspects in entities.items() for name in own_aspects)
    return found


def _commit(proposal: MetadataChangeProposalWrapper, graph: DataHubGraph) -> None:
    try:
        graph.emit_mcp(proposal)
    except OperationalError as error:
        reason = str(error.info.get("message") or error.message)
        raise RefusedError.definition(str(proposal.entityUrn), reason=reason) from error
