"""Test that DataHub's client reads back what it wrote to the test double."""

from collections.abc import Iterator
from typing import Any

import pytest
import requests
from datahub.configuration.common import OperationalError
from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    ChangeTypeClass,
    DatasetProfileClass,
    DatasetPropertiesClass,
    ERModelRelationshipPropertiesClass,
    QuerySubjectClass,
    QuerySubjectsClass,
    RelationshipFieldMappingClass,
    StatusClass,
    SystemMetadataClass,
    TagPropertiesClass,
)

from gms import Gms

ORDERS, CUSTOMERS = (
    f"urn:li:dataset:(urn:li:dataPlatform:postgres,shop.{name},PROD)"
    for name in ("orders", "customers")
)
JOIN = "urn:li:erModelRelationship:ab"
TAG = "urn:li:tag:join:accepted"
RELATIONSHIP = ERModelRelationshipPropertiesClass(
    name="orders.customer_id = customers.id",
    source=ORDERS,
    destination=CUSTOMERS,
    relationshipFieldMappings=[RelationshipFieldMappingClass("customer_id", "id")],
    cardinality="N_ONE",
    customProperties={"band": "high"},
)


@pytest.fixture
def gms() -> Iterator[Gms]:
    with Gms() as double:
        yield double


@pytest.fixture(params=["restli", "openapi"])
def graph(gms: Gms, request: pytest.FixtureRequest) -> DataHubGraph:
    return gms.graph(openapi_ingestion=request.param == "openapi")


def _write(graph: DataHubGraph, urn: str, aspect: object, **named: object) -> None:
    graph.emit_mcp(MetadataChangeProposalWrapper(entityUrn=urn, aspect=aspect, **named))  # type: ignore[arg-type]  # the wrapper checks


def test_reads_back_what_it_wrote(gms: Gms, graph: DataHubGraph) -> None:
    _write(graph, JOIN, RELATIONSHIP)
    assert graph.get_aspect(JOIN, ERModelRelationshipPropertiesClass) == RELATIONSHIP
    assert gms.get(JOIN, ERModelRelationshipPropertiesClass) == RELATIONSHIP
    assert graph.exists(JOIN)
    assert not graph.exists("urn:li:erModelRelationship:other")
    assert graph.get_aspect(JOIN, StatusClass) is None
    assert [(it.urn, it.aspect, it.change, it.by) for it in gms.writes] == [
        (JOIN, "erModelRelationshipProperties", "UPSERT", "ingestion")
    ]


def test_reads_in_bulk(gms: Gms, graph: DataHubGraph) -> None:
    gms.put(ORDERS, DatasetPropertiesClass(name="orders"), pipeline="postgres")
    gms.put(ORDERS, StatusClass(removed=False))
    gms.put(CUSTOMERS, DatasetPropertiesClass(name="customers"))
    found = graph.get_entities(
        "dataset",
        [ORDERS, CUSTOMERS, f"{ORDERS[:-6]}_old,PROD)"],
        ["datasetProperties", "status"],
        with_system_metadata=True,
    )
    assert list(found) == [ORDERS, CUSTOMERS]
    aspect, system = found[ORDERS]["datasetProperties"]
    assert aspect == DatasetPropertiesClass(name="orders")
    assert system is not None
    assert system.pipelineName == "postgres"
    assert list(found[CUSTOMERS]) == ["datasetProperties"]
    bag = graph.get_entity_semityped(ORDERS)
    assert sorted(bag) == ["datasetKey", "datasetProperties", "status"]


def test_scrolls(gms: Gms, graph: DataHubGraph) -> None:
    for number in range(25):
        urn = f"urn:li:dataset:(urn:li:dataPlatform:postgres,t{number:02},PROD)"
        gms.put(urn, DatasetPropertiesClass(name=f"t{number}"))
        gms.put(urn, StatusClass(removed=number == 7))
    seen: list[str] = []
    scroll_id, pages = None, 0
    while pages == 0 or scroll_id:
        got = graph.scroll_entities(
            entity_names=["dataset"], aspects=["datasetProperties"], count=10, scroll_id=scroll_id
        )
        scroll_id, pages = got.scroll_id, pages + 1
        seen += [
            str(aspects["datasetProperties"][0].to_obj()["name"])
            for aspects in got.entities.values()
        ]
        assert got.total_count == 24
    assert pages == 3
    assert seen == [f"t{number}" for number in range(25) if number != 7]
    everything = graph.scroll_entities(
        entity_names=["dataset"], count=100, include_soft_delete=True
    )
    assert len(everything.entities) == 25
    filtered = graph.scroll_entities(
        filter=[{"and": [{"field": "name", "values": ["t3"], "condition": "EQUAL"}]}], count=100
    )
    assert [urn[-9:-6] for urn in filtered.entities] == ["t03"]


def test_slices_share_the_entities(gms: Gms, graph: DataHubGraph) -> None:
    for number in range(40):
        gms.put(f"urn:li:tag:t{number}", TagPropertiesClass(name=f"t{number}"))
    slices = [
        set(
            graph.scroll_entities(
                entity_names=["tag"], count=100, slice_id=it, slice_max=3
            ).entities
        )
        for it in range(3)
    ]
    assert set.union(*slices) == set(gms.urns("tag"))
    assert sum(map(len, slices)) == 40


def test_creates_only_what_is_not_there(gms: Gms) -> None:
    graph, create = gms.graph(openapi_ingestion=False), ChangeTypeClass.CREATE
    _write(graph, TAG, TagPropertiesClass(name="first"), changeType=create)
    with pytest.raises(OperationalError, match="CREATE since the aspect already exists"):
        _write(graph, TAG, TagPropertiesClass(name="second"), changeType=create)
    absent = {"If-None-Match": "*"}
    _write(graph, TAG, TagPropertiesClass(name="third"), changeType=create, headers=absent)
    assert gms.get(TAG, TagPropertiesClass) == TagPropertiesClass(name="first")
    assert [it.reason for it in gms.rejected] == [
        "Cannot perform CREATE since the aspect already exists.",
        "Dropping write per precondition header If-None-Match: *",
    ]
    assert len(gms.writes) == 1


def test_the_newer_interface_takes_a_creation_for_an_upsert(gms: Gms) -> None:
    graph = gms.graph(openapi_ingestion=True)
    absent, create = {"If-None-Match": "*"}, ChangeTypeClass.CREATE
    _write(graph, TAG, TagPropertiesClass(name="first"), changeType=create, headers=absent)
    _write(graph, TAG, TagPropertiesClass(name="second"), changeType=create, headers=absent)
    assert gms.get(TAG, TagPropertiesClass) == TagPropertiesClass(name="second")


def test_keeps_the_pipeline_of_the_first_write_and_the_run_of_the_last(
    gms: Gms, graph: DataHubGraph
) -> None:
    ours = SystemMetadataClass(runId="run-1", pipelineName="hyperjoin", lastObserved=5)
    _write(graph, JOIN, StatusClass(removed=False), systemMetadata=ours)
    _write(
        graph, JOIN, StatusClass(removed=True), systemMetadata=SystemMetadataClass(runId="by hand")
    )
    system = gms.system(JOIN, StatusClass)
    assert (system["pipelineName"], system["runId"]) == ("hyperjoin", "by hand")
    assert system["lastRunId"] == "run-1"


def test_reads_time_series_latest_first(graph: DataHubGraph) -> None:
    for time in (2, 3, 1):
        _write(graph, ORDERS, DatasetProfileClass(timestampMillis=time, rowCount=time * 10))
    latest = graph.get_latest_timeseries_value(ORDERS, DatasetProfileClass, {})
    assert latest is not None
    assert latest.rowCount == 30
    values = graph.get_timeseries_values(ORDERS, DatasetProfileClass, {}, limit=2)
    assert [it.timestampMillis for it in values] == [3, 2]
    found = graph.get_entities("dataset", [ORDERS], ["datasetProfile"])
    assert found[ORDERS]["datasetProfile"][0] == latest


def test_deletes(gms: Gms, graph: DataHubGraph) -> None:
    gms.put(JOIN, RELATIONSHIP)
    graph.delete_entity(JOIN)
    assert gms.get(JOIN, StatusClass) == StatusClass(removed=True)
    assert graph.exists(JOIN)
    assert graph.hard_delete_entity(JOIN) == (3, 0)
    assert not graph.exists(JOIN)
    assert [it.change for it in gms.writes] == ["UPSERT", "DELETE"]


def test_relationships_are_found_from_both_ends(gms: Gms, graph: DataHubGraph) -> None:
    gms.put(JOIN, RELATIONSHIP)
    gms.put("urn:li:query:q", QuerySubjectsClass([QuerySubjectClass(ORDERS)]))
    incoming = graph.RelationshipDirection.INCOMING
    kinds = ["ermodelrelationA", "ermodelrelationB"]
    for urn, kind in ((ORDERS, kinds[0]), (CUSTOMERS, kinds[1])):
        found = list(graph.get_related_entities(urn, kinds, incoming))
        assert [(it.urn, it.relationship_type) for it in found] == [(JOIN, kind)]
    scrolled = graph.scroll_relationships(relationship_types=kinds, destination_urns=[ORDERS])
    assert [it.source_urn for it in scrolled.relationships] == [JOIN]
    assert len(graph.scroll_relationships(count=2).relationships) == 2


@pytest.mark.parametrize(
    ("urn", "aspect", "message"),
    [
        (JOIN, RELATIONSHIP, "Failed to find entity with name erModelRelationship"),
        (ORDERS, DatasetPropertiesClass(), "Unknown aspect datasetProperties for entity dataset"),
    ],
)
def test_refuses_what_it_does_not_know(urn: str, aspect: object, message: str) -> None:
    with Gms(without=["erModelRelationship", "datasetProperties"]) as gms:
        for openapi in (False, True):
            with pytest.raises(OperationalError, match=message):
                _write(gms.graph(openapi_ingestion=openapi), urn, aspect)
        assert gms.writes == []
        assert len(gms.rejected) == 2


@pytest.mark.parametrize(
    ("aspect", "value", "message"),
    [
        ("status", {"removed": "no"}, "Failed to validate record with class status"),
        ("status", {"removed": True, "why": "x"}, "status/why :: unrecognized field found"),
        ("globalTags", {"tags": [{"context": "x"}]}, "missing required field: tag"),
        ("globalTags", {"tags": [{"tag": "accepted"}]}, "Invalid urn accepted"),
    ],
)
def test_refuses_what_breaks_the_model(
    gms: Gms, aspect: str, value: dict[str, Any], message: str
) -> None:
    body: Any = [{"urn": JOIN, aspect: {"value": value}}]
    response = requests.post(
        f"{gms.url}/openapi/v3/entity/erModelRelationship", json=body, timeout=9
    )
    assert response.status_code == 400
    assert message in response.text
    assert gms.writes == []


def test_has_no_answer_about_what_it_does_not_know() -> None:
    with Gms(without=["query"]) as gms:
        with pytest.raises(requests.HTTPError, match="400 Client Error"):
            gms.graph().get_entities("query", ["urn:li:query:q"])
        url = f"{gms.url}/openapi/v3/entity/scroll"
        response = requests.post(url, json={"entities": ["query"]}, timeout=9)
        assert response.status_code == 400
        message = "Failed to find entity with name query in EntityRegistry"
        assert response.json() == {"error": message}


def test_tells_what_it_knows() -> None:
    with Gms(without=["structuredProperty", "globalTags"]) as gms:
        specs = gms.graph().get_entity_aspect_specs()
        assert specs is not None
        assert specs.supports("erModelRelationship", "erModelRelationshipProperties")
        assert not specs.supports("erModelRelationship", "globalTags")
        assert not specs.supports("schemaField", "structuredProperties")
        with pytest.raises(ValueError, match="'structuredProperty' is not registered"):
            specs.supports("structuredProperty", "propertyDefinition")


@pytest.mark.parametrize("version", ["1.5.0", "1.6.0", "1.7.0"])
def test_says_which_release_it_is(version: str) -> None:
    with Gms(version=version) as gms:  # type: ignore[arg-type]  # the literals of the test
        config = gms.graph().server_config
        assert config.service_version == f"v{version}"
        assert config.is_version_at_least(1, 7) == (version == "1.7.0")
        assert not config.is_datahub_cloud
        assert config.commit_hash


def test_fails_on_demand(gms: Gms) -> None:
    graph = gms.graph(openapi_ingestion=False, retry_max_times=0)
    gms.fail(r"POST /aspects\?action=ingestProposal$", 503, times=2, message="busy")
    for _ in range(2):
        with pytest.raises(OperationalError, match="busy"):
            _write(graph, TAG, TagPropertiesClass(name="t"))
    _write(graph, TAG, TagPropertiesClass(name="t"))
    assert [(it.method, it.status) for it in gms.requests] == [
        ("POST", 503), ("POST", 503), ("POST", 200),
    ]  # fmt: skip
