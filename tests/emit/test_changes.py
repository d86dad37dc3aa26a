from collections.abc import Iterator, Sequence
from typing import Protocol

import pytest
from datahub.ingestion.api.workunit import MetadataWorkUnit
from datahub.metadata.schema_classes import (
    AuditStampClass,
    ChangeTypeClass,
    DatasetProfileClass,
    DatasetPropertiesClass,
    DatasetSnapshotClass,
    ERModelRelationshipPropertiesClass,
    FineGrainedLineageClass,
    FineGrainedLineageDownstreamTypeClass,
    FineGrainedLineageUpstreamTypeClass,
    GlobalTagsClass,
    MetadataChangeEventClass,
    MetadataChangeProposalClass,
    QueryPropertiesClass,
    StatusClass,
    StructuredPropertiesClass,
    StructuredPropertyDefinitionClass,
    StructuredPropertyValueAssignmentClass,
    TagAssociationClass,
    TagPropertiesClass,
    UpstreamClass,
    UpstreamLineageClass,
)

from datahub_hyperjoin.emit.changes import keep_changes
from datahub_hyperjoin.emit.patches import (
    change_lineage,
    change_tags,
    edge_path,
    set_properties,
    upstream_path,
)
from datahub_hyperjoin.metadata.relationships import MODEL_VERSION
from gms import Gms
from lakes.workunits import (
    COLUMN,
    DATASET,
    HIGH,
    JOIN,
    KEY,
    LOW,
    OTHER,
    QUERY,
    RETENTION,
    SCORE,
    THEIRS,
    edge,
    everything,
    hide,
    hide_by_patch,
    query,
    relationship,
    whole,
)


class MakeStatus(Protocol):
    """A function that hides or shows an entity.

    There is one for each of the two forms of a status.
    """

    def __call__(self, urn: str, *, removed: bool) -> MetadataWorkUnit: ...


class Report:
    """A report that collects counts and warnings."""

    def __init__(self) -> None:
        self.unchanged_aspects = 0
        self.said: list[str] = []

    def count(self, name: str, by: float) -> None:
        setattr(self, name, getattr(self, name) + by)

    def warn(self, title: str, message: str, context: str) -> None:
        self.said.append(f"{title}: {message}: {context}")


@pytest.fixture
def gms() -> Iterator[Gms]:
    with Gms() as double:
        for name in (SCORE, RETENTION):
            definition = StructuredPropertyDefinitionClass(
                qualifiedName=name.rpartition(":")[2],
                valueType="urn:li:dataType:datahub.number",
                entityTypes=["urn:li:entityType:datahub.schemaField"],
            )
            double.put(name, definition)
        yield double


def compare(gms: Gms, units: Sequence[MetadataWorkUnit]) -> tuple[list[MetadataWorkUnit], Report]:
    report = Report()
    return list(keep_changes(units, gms.graph(), count=report.count, warn=report.warn)), report


def write(gms: Gms, units: Sequence[MetadataWorkUnit]) -> list[MetadataWorkUnit]:
    kept, report = compare(gms, units)
    assert report.said == []
    assert report.unchanged_aspects == len(units) - len(kept)
    for unit in kept:
        assert not isinstance(unit.metadata, MetadataChangeEventClass)
        gms.graph().emit_mcp(unit.metadata)
    return kept


def test_a_second_identical_run_writes_nothing(gms: Gms) -> None:
    first = write(gms, everything())
    assert [unit.id for unit in first] == [unit.id for unit in everything()[:-1]]
    assert write(gms, everything()) == []


def test_another_model_alone_is_no_news(gms: Gms) -> None:
    def by(model: str, name: str) -> MetadataWorkUnit:
        custom = {MODEL_VERSION: model, "band": "high"}
        aspect = ERModelRelationshipPropertiesClass(
            name=name,
            source=DATASET,
            destination=DATASET,
            relationshipFieldMappings=[],
            customProperties=custom,
        )
        return whole(JOIN, aspect)

    assert write(gms, [by("1", "a = b")])
    assert write(gms, [by("2", "a = b")]) == []
    assert write(gms, [by("2", "a = c")])
    stored = gms.get(JOIN, ERModelRelationshipPropertiesClass)
    assert stored
    assert stored.customProperties[MODEL_VERSION] == "2"


def test_what_differs_passes_in_order(gms: Gms) -> None:
    write(gms, everything())
    units = [edge(0.5), query("SELECT 2"), *everything()[:3], relationship("other")]
    assert [unit.id for unit in write(gms, units)] == [units[0].id, units[1].id, units[-1].id]
    assert write(gms, [edge(0.5), relationship("other")]) == []


def test_tags_of_people_survive(gms: Gms) -> None:
    gms.put(JOIN, GlobalTagsClass([TagAssociationClass(THEIRS), TagAssociationClass(LOW)]))
    write(gms, everything())
    write(gms, everything())
    tags = gms.get(JOIN, GlobalTagsClass)
    assert tags is not None
    assert [one.tag for one in tags.tags] == [THEIRS, HIGH]


def test_properties_of_people_survive(gms: Gms) -> None:
    theirs = StructuredPropertyValueAssignmentClass(propertyUrn=RETENTION, values=[30.0])
    gms.put(COLUMN, StructuredPropertiesClass([theirs]))
    write(gms, everything())
    assert write(gms, everything()) == []
    found = gms.get(COLUMN, StructuredPropertiesClass)
    assert found is not None
    assert [one.propertyUrn for one in found.properties] == [RETENTION, SCORE]


def test_a_patch_with_a_single_change_is_sent_whole(gms: Gms) -> None:
    write(gms, [set_properties(COLUMN, {SCORE: [0.93]})])
    both = set_properties(COLUMN, {SCORE: [0.93], RETENTION: [7]})
    assert write(gms, [both]) == [both]
    assert write(gms, [both]) == []


def test_a_property_that_somebody_removed_is_set_again(gms: Gms) -> None:
    write(gms, everything())
    gms.put(COLUMN, StructuredPropertiesClass([]))
    (unit,) = write(gms, everything())
    assert unit.id == everything()[2].id
    found = gms.get(COLUMN, StructuredPropertiesClass)
    assert found is not None
    assert [one.propertyUrn for one in found.properties] == [SCORE]


def test_a_write_that_the_server_lost_is_repeated(gms: Gms) -> None:
    kept, _ = compare(gms, everything())
    for unit in kept[1:]:
        assert not isinstance(unit.metadata, MetadataChangeEventClass)
        gms.graph().emit_mcp(unit.metadata)
    assert [unit.id for unit in write(gms, everything())] == [everything()[0].id]


def table_edge(author: str) -> UpstreamClass:
    stamp = AuditStampClass(time=0, actor=f"urn:li:corpuser:{author}")
    return UpstreamClass(dataset=OTHER, type="COPY", auditStamp=stamp)


def test_the_table_edge_of_a_connector_is_neither_replaced_nor_removed(gms: Gms) -> None:
    lineage = UpstreamLineageClass([table_edge("connector")])
    gms.put(DATASET, lineage)
    path, value = upstream_path(OTHER), table_edge("_ingestion").to_obj()
    column = {"op": "add", "path": edge_path(KEY, COLUMN), "value": {"confidenceScore": 0.9}}
    add = [{"op": "add", "path": path, "value": value}, column]
    assert len(write(gms, [change_lineage(DATASET, add)])) == 1
    assert write(gms, [change_lineage(DATASET, add)]) == []
    remove = [{"op": "remove", "path": change["path"], "value": {}} for change in add]
    assert len(write(gms, [change_lineage(DATASET, remove)])) == 1
    found = gms.get(DATASET, UpstreamLineageClass)
    assert found is not None
    assert (found.upstreams, found.fineGrainedLineages) == (lineage.upstreams, [])


def test_what_a_person_hid_is_not_stamped_with_our_name(gms: Gms) -> None:
    write(gms, everything())
    gms.put(JOIN, StatusClass(removed=True), pipeline="by hand")
    assert write(gms, [hide(JOIN)]) == []
    assert gms.system(JOIN, StatusClass)["pipelineName"] == "by hand"


@pytest.mark.parametrize("status", [hide, hide_by_patch])
def test_only_what_exists_is_hidden_and_only_what_is_hidden_is_shown(
    gms: Gms, status: MakeStatus
) -> None:
    removed, shown = status(JOIN, removed=True), status(JOIN, removed=False)
    assert write(gms, [removed, shown]) == []
    write(gms, [relationship()])
    assert write(gms, [shown]) == []
    assert write(gms, [removed, removed]) == [removed]
    assert write(gms, [removed]) == []
    assert write(gms, [shown, shown]) == [shown]


def test_what_was_shown_is_not_shown_again_much_later_in_a_run(gms: Gms) -> None:
    write(gms, [relationship(), hide(JOIN)])
    others = [whole(f"urn:li:tag:{n}", TagPropertiesClass(name=str(n))) for n in range(600)]
    show = hide(JOIN, removed=False)
    assert compare(gms, [show, *others, show])[0] == [show, *others]


def test_a_query_keeps_the_day_it_was_made(gms: Gms) -> None:
    write(gms, [query(time=1)])
    assert write(gms, [query(time=2)]) == []
    write(gms, [query("SELECT 2", time=3)])
    found = gms.get(QUERY, QueryPropertiesClass)
    assert found is not None
    assert (found.created.time, found.lastModified.time) == (1, 3)


def test_what_is_there_is_not_created(gms: Gms) -> None:
    aspect = TagPropertiesClass(name="high")
    unit = whole(HIGH, aspect, ChangeTypeClass.CREATE)
    assert write(gms, [unit]) == [unit]
    gms.put(HIGH, TagPropertiesClass(name="very high"))
    assert write(gms, [unit]) == []


def test_units_of_one_aspect_are_compared_with_those_before(gms: Gms) -> None:
    up = change_tags(JOIN, {HIGH: ""}, stale=[LOW])
    down = change_tags(JOIN, {LOW: ""}, stale=[HIGH])
    assert len(write(gms, [up, up, down, down, up])) == 3
    found = gms.get(JOIN, GlobalTagsClass)
    assert found is not None
    assert [one.tag for one in found.tags] == [HIGH]


def test_what_cannot_be_compared_passes(gms: Gms) -> None:
    snapshot = DatasetSnapshotClass(urn=DATASET, aspects=[DatasetPropertiesClass()])
    foreign = change_tags(JOIN, {HIGH: ""}, stale=[])
    assert isinstance(foreign.metadata, MetadataChangeProposalClass)
    assert foreign.metadata.aspect
    foreign.metadata.aspect.value = b'[{"op": "add", "path": "/tags/x", "value": {}}]'
    units = [
        whole(DATASET, DatasetProfileClass(timestampMillis=1)),
        MetadataWorkUnit(id="old", mce=MetadataChangeEventClass(proposedSnapshot=snapshot)),
        foreign,
        change_lineage(DATASET, [{"op": "add", "path": "/upstreams", "value": []}]),
    ]
    assert compare(gms, units)[0] == units


def test_an_unreadable_catalog_lets_everything_pass_with_one_warning(gms: Gms) -> None:
    write(gms, everything())
    gms.fail("batchGet", status=400, times=99)
    units = everything() * 200
    kept, report = compare(gms, units)
    assert kept == units
    (said,) = report.said
    assert (
        "All metadata is written again, even where the catalog already has it: 400 Bad Request"
        in said
    )


def test_the_catalog_is_read_in_bulk(gms: Gms) -> None:
    units = [
        unit
        for n in range(500)
        for unit in (
            whole(f"urn:li:tag:{n}", TagPropertiesClass(name=str(n))),
            whole(f"urn:li:erModelRelationship:{n}", StatusClass(removed=True)),
        )
    ]
    compare(gms, units)
    reads = [one for one in gms.requests if "batchGet" in one.path]
    assert len(reads) == 4


def test_the_confidence_that_is_left_when_an_edge_goes_is_that_of_the_others(gms: Gms) -> None:
    # The server keeps the least of those of one column.
    third = "urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:file,x,PROD),id)"
    weak = {"op": "add", "path": edge_path(third, COLUMN), "value": {"confidenceScore": 0.5}}
    gone = change_lineage(DATASET, [{"op": "remove", "path": weak["path"], "value": {}}])
    write(gms, [edge(0.75), change_lineage(DATASET, [weak])])
    assert write(gms, [edge(0.75), change_lineage(DATASET, [weak])]) == []
    write(gms, [edge(0.75), gone])
    found = gms.get(DATASET, UpstreamLineageClass)
    assert found is not None
    assert found.fineGrainedLineages
    (left,) = found.fineGrainedLineages
    assert (left.upstreams, left.confidenceScore) == ([KEY], 0.75)
    assert write(gms, [edge(0.75), gone]) == []


def test_lineage_that_the_server_cannot_patch_is_left_out_with_a_warning(gms: Gms) -> None:
    several = FineGrainedLineageClass(
        upstreamType=FineGrainedLineageUpstreamTypeClass.FIELD_SET,
        downstreamType=FineGrainedLineageDownstreamTypeClass.FIELD_SET,
        upstreams=[KEY],
        downstreams=[COLUMN, f"urn:li:schemaField:({DATASET},origin)"],
    )
    gms.put(DATASET, UpstreamLineageClass(upstreams=[], fineGrainedLineages=[several]))
    kept, report = compare(gms, [edge(0.9), edge(0.8)])
    assert kept == []
    (said,) = report.said
    assert said == (
        "Lineage not written: DataHub cannot patch a dataset's lineage if one of its edges leads "
        f"to several columns: {DATASET}"
    )
