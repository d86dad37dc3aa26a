"""Build JSON patches that change only some entries of a DataHub aspect."""

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

# The unit separator marks a step into the attribution; the key of a tag without one is empty.
_TAG_KEYS = {"tags": ["attribution\N{SYMBOL FOR UNIT SEPARATOR}source", "tag"]}
_TERM_KEYS = {"terms": ["attribution\N{SYMBOL FOR UNIT SEPARATOR}source", "urn"]}
_PROPERTY_KEYS = {"properties": ["propertyUrn"]}

_REMOVABLE = {
    AI_CONTEXT,
    EmbedClass.ASPECT_NAME,
    GlossaryTermsClass.ASPECT_NAME,
    StatusClass.ASPECT_NAME,
    StructuredPropertiesClass.ASPECT_NAME,
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


def _patch(urn: str, aspect: str, payload: object) -> MetadataWorkUnit:
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


def _keyed(keys: dict[str, list[str]], changes: Sequence[Change]) -> dict[str, Any]:
    return {"arrayPrimaryKeys": keys, "patch": changes}


def tag_path(tag: str) -> str:
    """Return the JSON Patch path of an entity's tag.

    >>> tag_path("urn:li:tag:a/b")
    '/tags//urn:li:tag:a~1b'
    """
    return f"/tags//{_quote(tag)}"


def term_path(term: str) -> str:
    """Return the JSON Patch path of an entity's glossary term.

    >>> term_path("urn:li:glossaryTerm:a/b")
    '/terms//urn:li:glossaryTerm:a~1b'
    """
    return f"/terms//{_quote(term)}"


def property_path(key: str) -> str:
    """Return the JSON Patch path of a structured property.

    >>> property_path("urn:li:structuredProperty:a/b")
    '/properties/urn:li:structuredProperty:a~1b'
    """
    return f"/properties/{_quote(key)}"


def upstream_path(dataset: str) -> str:
    """Return the JSON Patch path of the lineage edge from an upstream dataset.

    >>> upstream_path("urn:li:dataset:(urn:li:dataPlatform:file,a/b.csv,PROD)")
    '/upstreams/urn:li:dataset:(urn:li:dataPlatform:file,a~1b.csv,PROD)'
    """
    return f"/upstreams/{_quote(dataset)}"


def edge_path(upstream: str, downstream: str) -> str:
    """Return the JSON Patch path of a lineage edge between two columns.

    >>> edge_path("urn:li:schemaField:(a,id)", "urn:li:schemaField:(b,id)")
    '/fineGrainedLineages/JOINABLE_WITH/urn:li:schemaField:(b,id)/NONE/urn:li:schemaField:(a,id)'
    """
    # NONE is in the position of the query that made the edge.
    return f"/fineGrainedLineages/{JOINABLE}/{_quote(downstream)}/NONE/{_quote(upstream)}"


def change_tags(urn: str, contexts: Mapping[str, str], *, stale: Sequence[str]) -> MetadataWorkUnit:
    """Add tags to an entity and remove outdated tags, in one patch."""
    changes: list[Change] = [
        {"op": "remove", "path": tag_path(removed), "value": {}} for removed in stale
    ]
    for tag, context in contexts.items():
        added = {"tag": tag, "context": context}
        changes.append({"op": "add", "path": tag_path(tag), "value": added})
    return _patch(urn, GlobalTagsClass.ASPECT_NAME, _keyed(_TAG_KEYS, changes))


def set_properties(
    urn: str, values: dict[str, Sequence[str] | Sequence[float]]
) -> MetadataWorkUnit:
    """Set structured properties of an entity."""
    # DataHub's classes give the same, but check each value against a schema. This takes longer than
    # all else about a column.
    changes = [
        _add_property({"propertyUrn": key, "values": [_typed(value) for value in own]})
        for key, own in values.items()
    ]
    return _patch(urn, StructuredPropertiesClass.ASPECT_NAME, _keyed(_PROPERTY_KEYS, changes))


def assign_property(
    urn: str, assignment: StructuredPropertyValueAssignmentClass
) -> MetadataWorkUnit:
    """Set one structured property of an entity, and record who set it."""
    change = _add_property(pre_json_transform(assignment.to_obj()))
    changes = _keyed(_PROPERTY_KEYS, [change])
    return _patch(urn, StructuredPropertiesClass.ASPECT_NAME, changes)


def _add_property(assigned: Mapping[str, Any]) -> Change:
    return {"op": "add", "path": property_path(assigned["propertyUrn"]), "value": assigned}


def _typed(value: str | float) -> dict[str, str | float]:
    return {"string" if isinstance(value, str) else "double": value}


def remove_properties(urn: str, keys: Sequence[str]) -> MetadataWorkUnit:
    """Remove structured properties from an entity."""
    changes = [{"op": "remove", "path": property_path(key), "value": {}} for key in keys]
    return _patch(urn, StructuredPropertiesClass.ASPECT_NAME, _keyed(_PROPERTY_KEYS, changes))


def add_terms(urn: str, terms: Sequence[str], *, exists: bool, actor: str) -> MetadataWorkUnit:
    """Add glossary terms to an entity, and create its aspect `glossaryTerms` if necessary."""
    changes: list[Change] = []
    if not exists:
        stamp = {"time": 0, "actor": actor}
        changes.append({"op": "add", "path": STAMP_PATH, "value": stamp})
    for term in terms:
        value = pre_json_transform(GlossaryTermAssociationClass(urn=term).to_obj())
        changes.append({"op": "add", "path": term_path(term), "value": value})
    return _patch(urn, GlossaryTermsClass.ASPECT_NAME, _keyed(_TERM_KEYS, changes))


def remove_terms(urn: str, terms: Sequence[str]) -> MetadataWorkUnit:
    """Remove glossary terms from an entity."""
    changes = [{"op": "remove", "path": term_path(term), "value": {}} for term in terms]
    return _patch(urn, GlossaryTermsClass.ASPECT_NAME, _keyed(_TERM_KEYS, changes))


def change_instructions(column: str, text: str) -> MetadataWorkUnit:
    """Set or remove a column's instructions for AI agents."""
    change: Change = {
        "op": "add" if text else "remove",
        "path": INSTRUCTIONS_PATH,
        "value": text or {},
    }
    # DataHub has no form of its own for patches of this aspect.
    payload = {"arrayPrimaryKeys": {}, "patch": [change], "forceGenericPatch": True}
    return _patch(column, AI_CONTEXT, payload)


def change_lineage(urn: str, changes: Sequence[Change]) -> MetadataWorkUnit:
    """Change some edges of a dataset's lineage."""
    # The patch names no keys of arrays: the server has its own form for lineage, in which the
    # columns of an edge are part of the path.
    return _patch(urn, UpstreamLineageClass.ASPECT_NAME, list(changes))
