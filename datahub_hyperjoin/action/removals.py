"""Record suggestions as rejected when a person removes them from a column."""

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    MetadataChangeProposalClass,
    StatusClass,
    StructuredPropertiesClass,
    StructuredPropertyDefinitionClass,
    StructuredPropertyValueAssignmentClass,
    SystemMetadataClass,
)

from datahub_hyperjoin.action.errors import UnrecordedRemovalError
from datahub_hyperjoin.action.events import Removal
from datahub_hyperjoin.client_errors import translate_errors, translate_malformed
from datahub_hyperjoin.emit.patches import assign_property
from datahub_hyperjoin.metadata.urns import REJECTED_JOINS, property_urn

RUN_ID = "hyperjoin-action"
"""The run ID of the action's own writes, which distinguishes them from a person's changes."""


def record_removal(graph: DataHubGraph, removal: Removal, namespace: str) -> bool:
    """Add removed suggestions to a column's property *Rejected joins*; return whether it changed.

    Every later run reads them there, and takes the entries of the other columns back.

    Returns:
        Whether anything was written: not if the pairs are recorded already, or if somebody deleted
        the whole property, with which DataHub removes its values from all columns.
    """

    def fail(reason: str) -> UnrecordedRemovalError:
        return UnrecordedRemovalError.of_column(removal.urn, reason)

    with translate_malformed(fail), translate_errors(graph, lambda _, reason: fail(reason)):
        if not _is_defined(graph, removal.definition):
            return False
        rejected = property_urn(namespace, REJECTED_JOINS)
        own = graph.get_aspect(removal.urn, StructuredPropertiesClass)
        assigned = {one.propertyUrn: one for one in own.properties} if own else {}
        before = assigned.get(rejected)
        values = list(before.values) if before else []
        new = [partner for partner in removal.partners if partner not in values]
        if new:
            stamp = removal.stamp
            assignment = StructuredPropertyValueAssignmentClass(
                propertyUrn=rejected,
                values=[*values, *new],
                created=before.created if before else stamp,
                lastModified=stamp,
            )
            _write(graph, assign_property(removal.urn, assignment).metadata)
        return bool(new)


def _is_defined(graph: DataHubGraph, definition: str) -> bool:
    status = graph.get_aspect(definition, StatusClass)
    exists = graph.get_aspect(definition, StructuredPropertyDefinitionClass) is not None
    return exists and not (status and status.removed)


def _write(graph: DataHubGraph, proposal: object) -> None:
    assert isinstance(proposal, MetadataChangeProposalClass)  # noqa: S101 - a patch is one
    proposal.systemMetadata = SystemMetadataClass(runId=RUN_ID)
    graph.emit_mcp(proposal)
