"""Changes to aspects that other people write too.

DataHub's own patch builders are not used: each of its versions writes another form, and servers
older than DataHub's pull request 17449 refuse those of later clients on an entity that has no such
aspect yet. The form here depends on no client's version, and those servers take it.
"""

import json
from collections.abc import Sequence
from typing import Any

from datahub.emitter.aspect import JSON_PATCH_CONTENT_TYPE
from datahub.emitter.mcp_patch_builder import MetadataPatchProposal
from datahub.emitter.serialization_helper import pre_json_transform
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import (
    ChangeTypeClass,
    GenericAspectClass,
    GlobalTagsClass,
    MetadataChangeProposalClass,
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
"""The operation by which our edges are told from other lineage of columns."""

_quote = MetadataPatchProposal.quote


def _patch(urn: str, aspect: str, payload: object) -> MetadataWorkUnit:
    proposal = MetadataChangeProposalClass(
        entityUrn=urn,
        entityType=Urn.from_string(urn).entity_type,
        changeType=ChangeTypeClass.PATCH,
        aspectName=aspect,
        aspect=GenericAspectClass(
            value=json.dumps(payload).encode(), contentType=JSON_PATCH_CONTENT_TYPE
        ),
    )
    # As primary source we would delete other people's entities once our findings are gone.
    return MetadataWorkUnit(id=f"{urn}-{aspect}", mcp_raw=proposal, is_primary_source=False)


def _keyed(keys: dict[str, list[str]], changes: list[dict[str, Any]]) -> dict[str, Any]:
    return {"arrayPrimaryKeys": keys, "patch": changes}


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
    changes: list[dict[str, Any]] = [
        {"op": "remove", "path": f"/tags//{_quote(other)}", "value": {}} for other in stale
    ]
    added = TagAssociationClass(tag=tag, context=context).to_obj()
    changes.append(
        {"op": "add", "path": f"/tags//{_quote(tag)}", "value": pre_json_transform(added)}
    )
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
        changes.append({"op": "add", "path": f"/properties/{_quote(key)}", "value": value})
    return _patch(urn, StructuredPropertiesClass.ASPECT_NAME, _keyed(_PROPERTY_KEYS, changes))


def remove_properties(urn: str, keys: Sequence[str]) -> MetadataWorkUnit:
    """Takes structured properties away.

    Args:
        urn: The entity.
        keys: The properties, by their urns.

    Returns:
        A patch that leaves all other properties alone.
    """
    changes = [{"op": "remove", "path": f"/properties/{_quote(key)}", "value": {}} for key in keys]
    return _patch(urn, StructuredPropertiesClass.ASPECT_NAME, _keyed(_PROPERTY_KEYS, changes))


def upstream_path(dataset: str) -> str:
    """Where a patch of lineage finds the edge from a dataset.

    >>> upstream_path("urn:li:dataset:(urn:li:dataPlatform:file,a/b.csv,PROD)")
    '/upstreams/urn:li:dataset:(urn:li:dataPlatform:file,a~1b.csv,PROD)'
    """
    return f"/upstreams/{_quote(dataset)}"


def edge_path(upstream: str, downstream: str) -> str:
    """Where a patch of lineage finds our edge between two columns; its value is the confidence.

    >>> edge_path("urn:li:schemaField:(a,id)", "urn:li:schemaField:(b,id)")
    '/fineGrainedLineages/JOINABLE_WITH/urn:li:schemaField:(b,id)/NONE/urn:li:schemaField:(a,id)'
    """
    # NONE stands for the query that made the edge.
    return f"/fineGrainedLineages/{JOINABLE}/{_quote(downstream)}/NONE/{_quote(upstream)}"


def change_lineage(urn: str, changes: Sequence[dict[str, Any]]) -> MetadataWorkUnit:
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
