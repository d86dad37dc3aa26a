"""Changes to aspects that other people write too.

DataHub's own patch builders are not used: each of its versions writes another form, and servers
older than DataHub's pull request 17449 refuse those of later clients on an entity that has no such
aspect yet. The form here depends on no client's version, and those servers take it.
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
    GenericAspectClass,
    GlobalTagsClass,
    MetadataChangeProposalClass,
    StatusClass,
    StructuredPropertiesClass,
    StructuredPropertyValueAssignmentClass,
    TagAssociationClass,
    UpstreamLineageClass,
)
from datahub.metadata.urns import Urn

# The unit separator stands for a step into the attribution; a tag without one is filed under "".
_TAG_KEYS = {"tags": ["attribution\N{SYMBOL FOR UNIT SEPARATOR}source", "tag"]}
_PROPERTY_KEYS = {"properties": ["propertyUrn"]}

JOINABLE = "JOINABLE_WITH"
"""The operation of our edges, which no other lineage between columns has."""

Change = Mapping[str, Any]
"""A JSON Patch operation: its `op` (`add`, `replace` or `remove`), `path` and `value`."""

_quote = MetadataPatchProposal.quote


def _patch(urn: str, aspect: str, payload: object) -> MetadataWorkUnit:
    proposal = MetadataChangeProposalClass(
        entityUrn=urn,
        entityType=Urn.from_string(urn).entity_type,
        changeType=ChangeTypeClass.PATCH,
        aspectName=aspect,
        aspect=_serialize(payload),
    )
    # As primary source we would delete other people's entities once our joins disappear.
    return MetadataWorkUnit(id=f"{urn}-{aspect}", mcp_raw=proposal, is_primary_source=False)


def _serialize(payload: object) -> GenericAspectClass:
    value = json.dumps(payload).encode()
    return GenericAspectClass(value=value, contentType=JSON_PATCH_CONTENT_TYPE)


def read_changes(
    proposal: MetadataChangeProposalClass | MetadataChangeProposalWrapper,
) -> list[Change] | None:
    """Return the operations of a patch, or of a status, which has but one; None for all else."""
    aspect = proposal.aspect
    if isinstance(aspect, StatusClass):
        return [{"op": "add", "path": "/removed", "value": aspect.removed}]
    if proposal.changeType != ChangeTypeClass.PATCH or not isinstance(aspect, GenericAspectClass):
        return None
    payload: Any = json.loads(aspect.value)
    return list(payload["patch"] if isinstance(payload, dict) else payload)


def with_changes(unit: MetadataWorkUnit, changes: Sequence[Change]) -> MetadataWorkUnit:
    """Return a patch of lineage with other operations."""
    unit = copy.deepcopy(unit)
    unit.metadata.aspect = _serialize(changes)
    return unit


def _keyed(keys: dict[str, list[str]], changes: list[Change]) -> dict[str, Any]:
    return {"arrayPrimaryKeys": keys, "patch": changes}


def tag_path(tag: str) -> str:
    """Return the path of a tag that no other program has attributed to itself.

    >>> tag_path("urn:li:tag:a/b")
    '/tags//urn:li:tag:a~1b'
    """
    return f"/tags//{_quote(tag)}"


def property_path(key: str) -> str:
    """Return the path of a structured property.

    >>> property_path("urn:li:structuredProperty:a/b")
    '/properties/urn:li:structuredProperty:a~1b'
    """
    return f"/properties/{_quote(key)}"


def upstream_path(dataset: str) -> str:
    """Return the path of the lineage edge from a dataset.

    >>> upstream_path("urn:li:dataset:(urn:li:dataPlatform:file,a/b.csv,PROD)")
    '/upstreams/urn:li:dataset:(urn:li:dataPlatform:file,a~1b.csv,PROD)'
    """
    return f"/upstreams/{_quote(dataset)}"


def edge_path(upstream: str, downstream: str) -> str:
    """Return the path of our lineage edge between two columns; its value is the confidence.

    >>> edge_path("urn:li:schemaField:(a,id)", "urn:li:schemaField:(b,id)")
    '/fineGrainedLineages/JOINABLE_WITH/urn:li:schemaField:(b,id)/NONE/urn:li:schemaField:(a,id)'
    """
    # NONE is in the position of the query that made the edge.
    return f"/fineGrainedLineages/{JOINABLE}/{_quote(downstream)}/NONE/{_quote(upstream)}"


def swap_tag(urn: str, tag: str, *, context: str, stale: Sequence[str]) -> MetadataWorkUnit:
    """Sets one tag, and takes others away.

    Args:
        urn: The entity.
        tag: Urn of the tag it gets.
        context: Why it gets it.
        stale: Urns of the tags it must not have.

    Returns:
        A patch that leaves all other tags alone.
    """
    changes: list[Change] = [
        {"op": "remove", "path": tag_path(other), "value": {}} for other in stale
    ]
    added = TagAssociationClass(tag=tag, context=context).to_obj()
    changes.append({"op": "add", "path": tag_path(tag), "value": pre_json_transform(added)})
    return _patch(urn, GlobalTagsClass.ASPECT_NAME, _keyed(_TAG_KEYS, changes))


def set_properties(
    urn: str, values: dict[str, Sequence[str] | Sequence[float]]
) -> MetadataWorkUnit:
    """Sets structured properties.

    Args:
        urn: The entity.
        values: What each property, by its urn, gets.

    Returns:
        A patch that leaves all other properties alone.
    """
    changes = []
    for key, own in values.items():
        assigned = StructuredPropertyValueAssignmentClass(propertyUrn=key, values=list(own))
        value = pre_json_transform(assigned.to_obj())
        changes.append({"op": "add", "path": property_path(key), "value": value})
    return _patch(urn, StructuredPropertiesClass.ASPECT_NAME, _keyed(_PROPERTY_KEYS, changes))


def remove_properties(urn: str, keys: Sequence[str]) -> MetadataWorkUnit:
    """Takes structured properties away.

    Args:
        urn: The entity.
        keys: The properties, by their urns.

    Returns:
        A patch that leaves all other properties alone.
    """
    changes = [{"op": "remove", "path": property_path(key), "value": {}} for key in keys]
    return _patch(urn, StructuredPropertiesClass.ASPECT_NAME, _keyed(_PROPERTY_KEYS, changes))


def change_lineage(urn: str, changes: Sequence[Change]) -> MetadataWorkUnit:
    """Changes single edges of a dataset's lineage.

    The server has its own way to file edges, which knows the columns; elements that are filed
    under keys of ours would not do for them.

    Args:
        urn: The downstream dataset.
        changes: JSON patch operations on `upstream_path` and `edge_path`.

    Returns:
        A patch that leaves all other edges alone.
    """
    return _patch(urn, UpstreamLineageClass.ASPECT_NAME, list(changes))
