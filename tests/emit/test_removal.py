"""Test that a run removes only its own metadata of joins that it no longer finds."""

from collections.abc import Iterable, Iterator, Sequence

import pytest
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.api.common import PipelineContext
from datahub.ingestion.api.source import MetadataWorkUnitProcessor
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.ingestion.source.state.stale_entity_removal_handler import (
    StaleEntityRemovalSourceReport,
    StatefulStaleMetadataRemovalConfig,
)
from datahub.ingestion.source.state.stateful_ingestion_base import (
    StatefulIngestionConfig,
    StatefulIngestionConfigBase,
    StatefulIngestionSourceBase,
)
from datahub.ingestion.source.state_provider.datahub_ingestion_checkpointing_provider import (
    DatahubIngestionCheckpointingProvider,
)
from datahub.metadata.schema_classes import (
    AuditStampClass,
    ERModelRelationshipPropertiesClass,
    GlobalTagsClass,
    QueryLanguageClass,
    QueryPropertiesClass,
    QuerySourceClass,
    QueryStatementClass,
    StatusClass,
    StructuredPropertiesClass,
    StructuredPropertyValueAssignmentClass,
    TagAssociationClass,
    UpstreamClass,
    UpstreamLineageClass,
)

from datahub_hyperjoin.catalog.versions import stale_removal
from datahub_hyperjoin.catalog.written_state import WrittenEdge, WrittenState
from datahub_hyperjoin.emit.changes import keep_changes
from datahub_hyperjoin.emit.layer import create_missing_definitions
from datahub_hyperjoin.emit.layers import withdraw
from datahub_hyperjoin.emit.patches import (
    change_lineage,
    change_tags,
    edge_path,
    set_properties,
    upstream_path,
)
from datahub_hyperjoin.emit.properties import define_properties
from datahub_hyperjoin.metadata.urns import (
    BEST_JOIN_SCORE,
    CONFIRMED_JOINS,
    SUGGESTED_JOINS,
    property_urn,
)
from gms import Gms

DATASET = "urn:li:dataset:(urn:li:dataPlatform:file,flights,PROD)"
OTHER = "urn:li:dataset:(urn:li:dataPlatform:file,airlines,PROD)"
SOURCE = "urn:li:dataset:(urn:li:dataPlatform:file,raw,PROD)"
COLUMN, KEY = f"urn:li:schemaField:({DATASET},carrier)", f"urn:li:schemaField:({OTHER},carrier)"
JOIN, GONE, QUERY = "urn:li:erModelRelationship:1", "urn:li:erModelRelationship:2", "urn:li:query:1"
NAMESPACE = "io.datahub.hyperjoin"
SCORE, LIST = (property_urn(NAMESPACE, name) for name in (BEST_JOIN_SCORE, SUGGESTED_JOINS))
THEIRS, TAG = property_urn(NAMESPACE, CONFIRMED_JOINS), "urn:li:tag:pii"
FULL = WrittenState(
    columns=[COLUMN],
    datasets=[DATASET],
    queries=[QUERY],
    lineage=[WrittenEdge(KEY, COLUMN, adds_table=True)],
)
STAMP = AuditStampClass(time=1, actor="urn:li:corpuser:_ingestion")


class Warnings:
    """A report that accepts one unchanged aspect, and fails on any other count and any warning."""

    def count(self, name: str, by: float) -> None:
        assert (name, by) == ("unchanged_aspects", 1)

    def warn(self, title: str, message: str, context: str) -> None:
        raise AssertionError(title + message + context)


@pytest.fixture(params=["1.5.0", "1.6.0", "1.7.0"])
def gms(request: pytest.FixtureRequest) -> Iterator[Gms]:
    with Gms(request.param) as double:
        assert list(create_missing_definitions(define_properties(NAMESPACE), double.graph())) == []
        yield double


def found() -> list[MetadataWorkUnit]:
    """Return the metadata of a run whose written state is `FULL`."""
    query = QueryPropertiesClass(
        statement=QueryStatementClass(value="SELECT 1", language=QueryLanguageClass.SQL),
        source=QuerySourceClass.MANUAL,
        created=STAMP,
        lastModified=STAMP,
    )
    upstream = UpstreamClass(dataset=OTHER, type="TRANSFORMED", auditStamp=STAMP).to_obj()
    changes = [
        {"op": "add", "path": upstream_path(OTHER), "value": upstream},
        {"op": "add", "path": edge_path(KEY, COLUMN), "value": {"confidenceScore": 0.93}},
    ]
    return [
        set_properties(COLUMN, {SCORE: [0.93]}),
        set_properties(DATASET, {LIST: ["carrier joins"]}),
        MetadataChangeProposalWrapper(entityUrn=QUERY, aspect=query).as_workunit(),
        change_lineage(DATASET, changes),
    ]


def write(gms: Gms, units: Iterable[MetadataWorkUnit]) -> int:
    report = Warnings()
    kept = list(keep_changes(units, gms.graph(), count=report.count, warn=report.warn))
    for unit in kept:
        gms.graph().emit(unit.metadata)
    return len(kept)


def withdraw_all(gms: Gms) -> int:
    units, _ = withdraw(
        FULL, WrittenState(), namespace=NAMESPACE, threshold=100, warn=Warnings().warn
    )
    return write(gms, units)


def theirs() -> StructuredPropertyValueAssignmentClass:
    return StructuredPropertyValueAssignmentClass(propertyUrn=THEIRS, values=[KEY])


def test_withdrawing_leaves_the_catalog_as_people_have_it(gms: Gms) -> None:
    properties = StructuredPropertiesClass([theirs()])
    lineage = UpstreamLineageClass([UpstreamClass(dataset=SOURCE, type="COPY", auditStamp=STAMP)])
    gms.put(COLUMN, properties)
    gms.put(DATASET, lineage)
    assert write(gms, found()) == 4
    assert withdraw_all(gms) == 4
    left = gms.get(DATASET, UpstreamLineageClass)
    assert left
    assert left.upstreams == lineage.upstreams
    assert not left.fineGrainedLineages
    assert gms.get(COLUMN, StructuredPropertiesClass) == properties
    assert gms.get(DATASET, StructuredPropertiesClass) == StructuredPropertiesClass([])
    assert gms.get(QUERY, StatusClass) == StatusClass(removed=True)
    assert withdraw_all(gms) == 0


def test_only_queries_are_ever_hidden(gms: Gms) -> None:
    write(gms, found())
    withdraw_all(gms)
    assert {one.urn for one in gms.writes if one.aspect == "status"} == {QUERY}


def test_the_edge_of_two_datasets_that_someone_else_wrote_since_stays(gms: Gms) -> None:
    write(gms, found())
    stamp = AuditStampClass(time=2, actor="urn:li:corpuser:jdoe")
    lineage = UpstreamLineageClass([UpstreamClass(dataset=OTHER, type="COPY", auditStamp=stamp)])
    gms.put(DATASET, lineage)
    withdraw_all(gms)
    assert gms.get(DATASET, UpstreamLineageClass) == lineage


def test_a_query_that_a_person_hid_keeps_the_person_s_name(gms: Gms) -> None:
    write(gms, found())
    gms.put(QUERY, StatusClass(removed=True), pipeline="by hand")
    withdraw_all(gms)
    assert gms.system(QUERY, StatusClass)["pipelineName"] == "by hand"


class Source(StatefulIngestionSourceBase):
    """A source that writes the relationships of given joins."""

    platform = "hyperjoin"

    def __init__(self, ctx: PipelineContext, joins: Sequence[str]) -> None:
        removal = StatefulStaleMetadataRemovalConfig(enabled=True)
        self.config = StatefulIngestionConfigBase[StatefulIngestionConfig](
            stateful_ingestion=removal
        )
        super().__init__(self.config, ctx)
        self.report = StaleEntityRemovalSourceReport()
        self.joins = joins

    def get_report(self) -> StaleEntityRemovalSourceReport:
        assert isinstance(self.report, StaleEntityRemovalSourceReport)
        return self.report

    def get_workunit_processors(self) -> list[MetadataWorkUnitProcessor | None]:
        own = stale_removal(self, self.config, self.ctx)
        return [*super().get_workunit_processors(), *own]

    def get_workunits_internal(self) -> Iterable[MetadataWorkUnit]:
        for join in self.joins:
            aspect = ERModelRelationshipPropertiesClass(
                name=join, source=DATASET, destination=OTHER, relationshipFieldMappings=[]
            )
            yield MetadataChangeProposalWrapper(entityUrn=join, aspect=aspect).as_workunit()
            yield change_tags(join, {TAG: ""}, stale=[])


def run(gms: Gms, joins: Sequence[str]) -> None:
    ctx = PipelineContext(run_id="run", graph=gms.graph(), pipeline_name="joins")
    source = Source(ctx, joins)
    write(gms, source.get_workunits())
    source.close()
    provider = source.state_provider.ingestion_checkpointing_state_provider
    assert isinstance(provider, DatahubIngestionCheckpointingProvider)
    provider.commit()


def test_relationships_go_with_every_version_of_the_framework(gms: Gms) -> None:
    run(gms, [JOIN, GONE])
    gms.put(GONE, GlobalTagsClass([TagAssociationClass(TAG)]))
    run(gms, [JOIN])
    assert gms.get(GONE, StatusClass) == StatusClass(removed=True)
    assert gms.get(GONE, GlobalTagsClass)
    status = gms.get(JOIN, StatusClass)
    assert not (status and status.removed)
