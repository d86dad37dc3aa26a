"""Build JSON patches that change only some entries of a DataHub aspect.

DataHub's own patch builders are not used. Their form changes between versions, and servers older
than DataHub's pull request 17449 reject the form of later clients for an entity without the aspect.
The form here is the same with every client, and those servers accept it.
"""

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

from datahub.emitter.aspect import JSON_PATCH_CONTENT_TYPE
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.emitter.mcp_patch_builder import MetadataPatchProposal
from datahub.emitter.serialization_helper import pre_json_transform
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import (
    ChangeTypeClass,
    EmbedClass,
    GenericAspectClass,
    GlobalTagsClass,
    GlossaryTermAssociationClass,
    GlossaryTermsClass,
    MetadataChangeEventClass,
    MetadataChangeProposalClass,
    StatusClass,
    StructuredPropertiesClass,
    StructuredPropertyValueAssignmentClass,
    UpstreamLineageClass,
)
from datahub.utilities.urns.urn import guess_entity_type

from datahub_hyperjoin.metadata.urns import AI_CONTEXT

_TAGS, _TERMS = GlobalTagsClass.ASPECT_NAME, GlossaryTermsClass.ASPECT_NAME
_PROPERTIES = StructuredPropertiesClass.ASPECT_NAME

# The unit separator marks a step into the attribution; the key of a tag without one is empty.
_KEYS = {
    _TAGS: {"tags": ["attribution\N{SYMBOL FOR UNIT SEPARATOR}source", "tag"]},
    _TERMS: {"terms": ["attribution\N{SYMBOL FOR UNIT SEPARATOR}source", "urn"]},
    _PROPERTIES: {"properties": ["propertyUrn"]},
}
"""The fields by which the server identifies the entries of an aspect's array."""

_REMOVABLE = {
    AI_CONTEXT,
    EmbedClass.ASPECT_NAME,
    _TERMS,
    StatusClass.ASPECT_NAME,
    _PROPERTIES,
    UpstreamLineageClass.ASPECT_NAME,
}

JOINABLE = "JOINABLE_WITH"
"""The `transformOperation` of the lineage edges that this source writes; no other edge has it."""

INSTRUCTIONS_PATH = "/instructions"
"""The JSON Patch path of the instructions for agents."""

STAMP_PATH = "/auditStamp"
"""The JSON Patch path of the stamp that a new aspect of glossary terms needs."""

Change = Mapping[str, Any]
"""A JSON Patch operation: its `op` (`add`, `replace` or `remove`), `path` and `value`."""

_quote = MetadataPatchProposal.quote


def _patch(urn: str, aspect: str, changes: Sequence[Change]) -> MetadataWorkUnit:
    payload: Any = {"arrayPrimaryKeys": _KEYS.get(aspect, {}), "patch": changes}
    if aspect == AI_CONTEXT:
        # DataHub has no form of its own for patches of this aspect.
        payload["forceGenericPatch"] = True
    elif aspect == UpstreamLineageClass.ASPECT_NAME:
        # The server has its own form for lineage: the columns of an edge are part of the path.
        payload = list(changes)
    proposal = MetadataChangeProposalClass(
        entityUrn=urn,
        entityType=guess_entity_type(urn),
        changeType=ChangeTypeClass.PATCH,
        aspectName=aspect,
        aspect=_serialize(payload),
    )
    # Stateful ingestion removes entities that a primary source no longer writes. These belong to
    # other people, and must stay when their joins disappear.
    return MetadataWorkUnit(id=f"{urn}-{aspect}", mcp_raw=proposal, is_primary_source=False)


def _serialize(payload: object) -> GenericAspectClass:
    value = json.dumps(payload).encode()
    return GenericAspectClass(value=value, contentType=JSON_PATCH_CONTENT_TYPE)


def read_changes(
    proposal: MetadataChangeProposalClass | MetadataChangeProposalWrapper,
) -> list[Change] | None:
    """Return a patch or a `status` aspect as JSON Patch operations; None for other proposals."""
    aspect = proposal.aspect
    if isinstance(aspect, StatusClass):
        return [{"op": "add", "path": "/removed", "value": aspect.removed}]
    if proposal.changeType != ChangeTypeClass.PATCH or not isinstance(aspect, GenericAspectClass):
        return None
    payload: Any = json.loads(aspect.value)
    return list(payload["patch"] if isinstance(payload, dict) else payload)


def hides(unit: MetadataWorkUnit) -> bool:
    """Return whether a workunit soft-deletes its entity, which hides it in DataHub."""
    proposal = unit.metadata
    if isinstance(proposal, MetadataChangeEventClass):
        return False
    changes = read_changes(proposal) if proposal.aspectName == StatusClass.ASPECT_NAME else None
    return any(change.get("value") is True for change in changes or ())


def removes(unit: MetadataWorkUnit) -> bool:
    """Return whether a workunit soft-deletes its entity or removes metadata from it."""
    proposal = unit.metadata
    if isinstance(proposal, MetadataChangeEventClass) or proposal.aspectName not in _REMOVABLE:
        return False
    if isinstance(proposal.aspect, EmbedClass):
        return not proposal.aspect.renderUrl
    return hides(unit) or any(change["op"] == "remove" for change in read_changes(proposal) or ())


def aspect_name(unit: MetadataWorkUnit) -> str:
    """Return the name of the aspect that a workunit writes; empty if it writes several."""
    proposal = unit.metadata
    return "" if isinstance(proposal, MetadataChangeEventClass) else proposal.aspectName or ""


def with_changes(unit: MetadataWorkUnit, changes: Sequence[Change]) -> MetadataWorkUnit:
    """Copy a workunit, but replace its JSON Patch operations with `changes`."""
    changed = copy.deepcopy(unit)
    if isinstance(changed.metadata, MetadataChangeProposalClass):
        changed.metadata.aspect = _serialize(changes)
    return changed


def tag_path(tag: str) -> str:
    """Return the JSON Patch path of an entity's tag that is attributed to no source.

    >>> tag_path("urn:li:tag:a/b")
    '/tags//urn:li:tag:a~1b'
    """
    return f"/tags//{_quote(tag)}"


def term_path(term: str) -> str:
    """Return the JSON Patch path of an entity's glossary term that is attributed to no source."""
    return f"/terms//{_quote(term)}"


def property_path(key: str) -> str:
    """Return the JSON Patch path of a structured property."""
    return f"/properties/{_quote(key)}"


def upstream_path(dataset: str) -> str:
    """Return the JSON Patch path of the lineage edge from an upstream dataset."""
    return f"/upstreams/{_quote(dataset)}"


def edge_path(upstream: str, downstream: str) -> str:
    """Return the JSON Patch path of a lineage edge between two columns that this source writes.

    >>> edge_path("urn:li:schemaField:(a,id)", "urn:li:schemaField:(b,id)")
    '/fineGrainedLineages/JOINABLE_WITH/urn:li:schemaField:(b,id)/NONE/urn:li:schemaField:(a,id)'
    """
    # NONE is in the position of the query that made the edge.
    return f"/fineGrainedLineages/{JOINABLE}/{_quote(downstream)}/NONE/{_quote(upstream)}"


def addition(path: str, value: object) -> Change:
    """Return the operation that adds or replaces an entry."""
    return {"op": "add", "path": path, "value": value}


def removal(path: str) -> Change:
    """Return the operation that removes an entry."""
    return {"op": "remove", "path": path, "value": {}}


def change_tags(
    urn: str,
    contexts: Mapping[str, str],
    *,
    stale: Sequence[str],
    attributed: Mapping[str, Mapping[str, object]] | None = None,
) -> MetadataWorkUnit:
    """Add tags with contexts or attributions to an entity, and remove outdated ones, at once."""
    new: dict[str, Mapping[str, object]] = {
        **{tag: {"tag": tag, "context": context} for tag, context in contexts.items()},
        **{tag: {"tag": tag, "attribution": by} for tag, by in (attributed or {}).items()},
    }
    added = [addition(tag_path(tag), association) for tag, association in new.items()]
    return _patch(urn, _TAGS, [*map(removal, map(tag_path, stale)), *added])


def set_properties(
    urn: str, values: dict[str, Sequence[str] | Sequence[float]]
) -> MetadataWorkUnit:
    """Set structured properties of an entity."""
    # DataHub's classes give the same, but check each value against a schema. This takes longer than
    # all else about a column.
    typed = {
        key: [{"string" if isinstance(value, str) else "double": value} for value in own]
        for key, own in values.items()
    }
    changes = [
        addition(property_path(key), {"propertyUrn": key, "values": own})
        for key, own in typed.items()
    ]
    return _patch(urn, _PROPERTIES, changes)


def assign_property(
    urn: str, assignment: StructuredPropertyValueAssignmentClass
) -> MetadataWorkUnit:
    """Set one structured property of an entity, and record who set it."""
    value = pre_json_transform(assignment.to_obj())
    return _patch(urn, _PROPERTIES, [addition(property_path(assignment.propertyUrn), value)])


def remove_properties(urn: str, keys: Sequence[str]) -> MetadataWorkUnit:
    """Remove structured properties from an entity."""
    return _patch(urn, _PROPERTIES, [*map(removal, map(property_path, keys))])


def add_terms(urn: str, terms: Sequence[str], *, exists: bool, actor: str) -> MetadataWorkUnit:
    """Add glossary terms to an entity, and create its aspect `glossaryTerms` if necessary."""
    stamp = [] if exists else [addition(STAMP_PATH, {"time": 0, "actor": actor})]
    added = [
        addition(term_path(term), pre_json_transform(GlossaryTermAssociationClass(term).to_obj()))
        for term in terms
    ]
    return _patch(urn, _TERMS, [*stamp, *added])


def remove_terms(urn: str, terms: Sequence[str]) -> MetadataWorkUnit:
    """Remove glossary terms from an entity."""
    return _patch(urn, _TERMS, [*map(removal, map(term_path, terms))])


def change_instructions(column: str, text: str) -> MetadataWorkUnit:
    """Set or remove a column's instructions for AI agents."""
    change = addition(INSTRUCTIONS_PATH, text) if text else removal(INSTRUCTIONS_PATH)
    return _patch(column, AI_CONTEXT, [change])


def change_lineage(urn: str, changes: Sequence[Change]) -> MetadataWorkUnit:
    """Change some edges of a dataset's lineage."""
    return _patch(urn, UpstreamLineageClass.ASPECT_NAME, changes)
