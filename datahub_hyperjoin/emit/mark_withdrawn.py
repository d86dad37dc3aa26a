"""Mark hidden metadata with the ID of the run that hid it.

A later run can then tell it from what a person hid.

DataHub keeps with each status only the ID of the run that wrote it. The checkpoint knows which of
these runs are ours, but it may be lost. So each entity that a run hides names that run, too.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    DocumentInfoClass,
    ERModelRelationshipPropertiesClass,
    GlossaryTermInfoClass,
    QueryPropertiesClass,
    StatusClass,
)
from datahub.utilities.urns.urn import guess_entity_type

from datahub_hyperjoin.client_errors import UNREADABLE, explain
from datahub_hyperjoin.emit.patches import hides
from datahub_hyperjoin.metadata.relationship_aspect import WITHDRAWN_BY
from datahub_hyperjoin.visible import logger_of

logger = logger_of(__name__)

_CHUNK = 500
_Marked = (
    ERModelRelationshipPropertiesClass
    | QueryPropertiesClass
    | DocumentInfoClass
    | GlossaryTermInfoClass
)
_MARKED: dict[str, type[_Marked]] = {
    "erModelRelationship": ERModelRelationshipPropertiesClass,
    "query": QueryPropertiesClass,
    "document": DocumentInfoClass,
    "glossaryTerm": GlossaryTermInfoClass,
}


def mark_withdrawn(
    units: Iterable[MetadataWorkUnit], graph: DataHubGraph, *, run_id: str
) -> Iterator[MetadataWorkUnit]:
    """Store the ID of this run in the entities that the run hides.

    Args:
        units: All metadata of a run.
        graph: DataHub's server.
        run_id: ID of the run.

    Yields:
        The workunits in order, with the marks before those that hide.
    """
    for hiding, group in groupby(units, key=hides):
        while hiding and (chunk := list(islice(group, _CHUNK))):
            try:
                yield from _marks(chunk, graph, run_id)
            except UNREADABLE as error:
                reason = explain(error, graph.config.token)
                logger.warning("Only the checkpoint knows what this run withdraws: %s", reason)
            yield from chunk
        yield from group


def _marks(
    units: Sequence[MetadataWorkUnit], graph: DataHubGraph, run_id: str
) -> Iterator[MetadataWorkUnit]:
    """Yield workunits that store the run's ID in the entities that the run will hide.

    Entities that are hidden already are skipped.
    """
    for entity, kind in _MARKED.items():
        urns = [unit.get_urn() for unit in units if guess_entity_type(unit.get_urn()) == entity]
        names = [kind.ASPECT_NAME, StatusClass.ASPECT_NAME]
        found = graph.get_entities(entity, urns, names) if urns else {}
        for urn, aspects in found.items():
            properties, _ = aspects.get(kind.ASPECT_NAME, (None, None))
            status, _ = aspects.get(StatusClass.ASPECT_NAME, (None, None))
            hidden = isinstance(status, StatusClass) and status.removed
            if isinstance(properties, kind) and not hidden:
                properties.customProperties[WITHDRAWN_BY] = run_id
                proposal = MetadataChangeProposalWrapper(entityUrn=urn, aspect=properties)
                yield proposal.as_workunit(is_primary_source=False)
