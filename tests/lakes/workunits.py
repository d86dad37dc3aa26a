"""Make the workunits that a run sends to DataHub for one join."""

import json

from datahub.emitter.aspect import JSON_PATCH_CONTENT_TYPE
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import (
    AuditStampClass,
    ChangeTypeClass,
    ERModelRelationshipPropertiesClass,
    GenericAspectClass,
    MetadataChangeProposalClass,
    QueryLanguageClass,
    QueryPropertiesClass,
    QuerySourceClass,
    QueryStatementClass,
    StatusClass,
    _Aspect,
)

from datahub_hyperjoin.emit.patches import (
    change_lineage,
    change_tags,
    edge_path,
    set_properties,
)

DATASET = "urn:li:dataset:(urn:li:dataPlatform:file,flights,PROD)"
OTHER = "urn:li:dataset:(urn:li:dataPlatform:file,airlines,PROD)"
COLUMN, KEY = f"urn:li:schemaField:({DATASET},carrier)", f"urn:li:schemaField:({OTHER},carrier)"
JOIN, QUERY = "urn:li:erModelRelationship:ab", "urn:li:query:ab"
THEIRS, HIGH, LOW = (f"urn:li:tag:{name}" for name in ("checked", "join:high", "join:low"))
SCORE, RETENTION = (f"urn:li:structuredProperty:{name}" for name in ("score", "retention"))


def whole(urn: str, aspect: _Aspect, change: str = ChangeTypeClass.UPSERT) -> MetadataWorkUnit:
    proposal = MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect, changeType=change)
    return proposal.as_workunit()


def relationship(name: str = "flights.carrier = airlines.carrier") -> MetadataWorkUnit:
    aspect = ERModelRelationshipPropertiesClass(
        name=name, source=DATASET, destination=OTHER, relationshipFieldMappings=[]
    )
    return whole(JOIN, aspect)


def query(statement: str = "SELECT 1", *, time: int = 1) -> MetadataWorkUnit:
    stamp = AuditStampClass(time=time, actor="urn:li:corpuser:datahub")
    aspect = QueryPropertiesClass(
        statement=QueryStatementClass(value=statement, language=QueryLanguageClass.SQL),
        source=QuerySourceClass.MANUAL,
        created=stamp,
        lastModified=stamp,
    )
    return whole(QUERY, aspect)


def edge(score: float) -> MetadataWorkUnit:
    change = {"op": "add", "path": edge_path(KEY, COLUMN), "value": {"confidenceScore": score}}
    return change_lineage(DATASET, [change])


def hide(urn: str, *, removed: bool = True) -> MetadataWorkUnit:
    return whole(urn, StatusClass(removed=removed))


def hide_by_patch(urn: str, *, removed: bool = True) -> MetadataWorkUnit:
    change = {"op": "add", "path": "/removed", "value": removed}
    proposal = MetadataChangeProposalClass(
        entityUrn=urn,
        entityType="erModelRelationship",
        changeType=ChangeTypeClass.PATCH,
        aspectName="status",
        aspect=GenericAspectClass(
            value=json.dumps([change]).encode(), contentType=JSON_PATCH_CONTENT_TYPE
        ),
    )
    return MetadataWorkUnit(id=urn, mcp_raw=proposal)


def everything() -> list[MetadataWorkUnit]:
    return [
        relationship(),
        change_tags(JOIN, {HIGH: "0.93"}, stale=[LOW]),
        set_properties(COLUMN, {SCORE: [0.93]}),
        query(),
        edge(0.9312),
        hide(JOIN, removed=False),
    ]
