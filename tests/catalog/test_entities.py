from typing import Any

import pytest
from avro.errors import AvroException
from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.filters import RawSearchFilter
from datahub.metadata.schema_classes import (
    DatasetPropertiesClass,
    OwnershipClass,
    StatusClass,
)

from datahub_hyperjoin.catalog.entities import aspect_of, fetch, scroll
from datahub_hyperjoin.catalog.errors import UnreadableCatalogError
from datahub_hyperjoin.errors import UnknownEntityTypeError
from datahub_hyperjoin.metadata.urns import dataset_urn
from datahub_hyperjoin.tables import TableId
from gms import Gms

NAMES = ("datasetProperties", "status")
POSTGRES: RawSearchFilter = [
    {"and": [{"field": "platform", "values": ["urn:li:dataPlatform:postgres"]}]}
]


def urn_of(name: str, platform: str = "postgres") -> str:
    return dataset_urn(TableId(platform, name))


def put(gms: Gms, *urns: str) -> None:
    for urn in urns:
        gms.put(urn, DatasetPropertiesClass(name=urn), pipeline="nightly")


def refuse_to_read(
    urn: str, monkeypatch: pytest.MonkeyPatch, error: type[Exception] = ValueError
) -> None:
    """Make the client fail to parse one entity.

    It fails in the same way on values that it does not know.
    """
    original = DatasetPropertiesClass.from_obj

    def from_obj(obj: dict[str, Any]) -> DatasetPropertiesClass:
        if obj["name"] == urn:
            reason = "name is of no known kind"
            raise error(reason)
        return original(obj)

    monkeypatch.setattr(DatasetPropertiesClass, "from_obj", from_obj)


def paths(gms: Gms) -> list[str]:
    return [request.path.partition("?")[0] for request in gms.requests]


@pytest.fixture(params=["by pages", "by an older client", "by an older server"])
def way(request: pytest.FixtureRequest, gms: Gms, monkeypatch: pytest.MonkeyPatch) -> str:
    """Set up each way to read entities: by a current client, an older client or an older server."""
    if request.param == "by an older client":
        for kind in DataHubGraph.__mro__:
            if "scroll_entities" in vars(kind):
                monkeypatch.delattr(kind, "scroll_entities")
    if request.param == "by an older server":
        gms.fail("/openapi/v3/entity/scroll", status=404, times=99)
    return str(request.param)


@pytest.mark.usefixtures("way")
def test_every_way_returns_each_entity_once_with_system_metadata(
    gms: Gms, graph: DataHubGraph
) -> None:
    urns = {urn_of(f"shop.{number}") for number in range(1_003)}
    put(gms, *urns)
    found = list(scroll(graph, "dataset", NAMES))
    assert len(found) == len(urns)
    assert {urn for urn, _ in found} == urns
    for urn, aspects in found:
        properties, written = aspects["datasetProperties"]
        assert isinstance(properties, DatasetPropertiesClass)
        assert properties.name == urn
        assert written is not None
        assert written.pipelineName == "nightly"
    assert len(gms.requests) < 10


@pytest.mark.usefixtures("way")
def test_every_way_filters_and_excludes_removed_entities(gms: Gms, graph: DataHubGraph) -> None:
    kept, gone, other = urn_of("kept"), urn_of("gone"), urn_of("other", "mysql")
    put(gms, kept, gone, other)
    gms.put(gone, StatusClass(removed=True))
    assert [urn for urn, _ in scroll(graph, "dataset", NAMES, filters=POSTGRES)] == [kept]
    everything = dict(scroll(graph, "dataset", NAMES, removed=True))
    assert everything.keys() == {kept, gone, other}
    status = aspect_of(everything[gone], StatusClass)
    assert status is not None
    assert status.removed


@pytest.mark.usefixtures("way")
def test_one_of_several_clauses_is_enough(gms: Gms, graph: DataHubGraph) -> None:
    put(gms, urn_of("a"), urn_of("b", "mysql"), urn_of("c", "hive"))
    mysql: RawSearchFilter = [
        {"and": [{"field": "platform", "values": ["urn:li:dataPlatform:mysql"]}]}
    ]
    found = [urn for urn, _ in scroll(graph, "dataset", NAMES, filters=POSTGRES + mysql)]
    assert sorted(found) == sorted([urn_of("a"), urn_of("b", "mysql")])


@pytest.mark.usefixtures("way")
def test_entities_without_the_aspects_are_not_returned(gms: Gms, graph: DataHubGraph) -> None:
    put(gms, urn_of("shop"))
    assert list(scroll(graph, "dataset", ["ownership"])) == []


def test_an_older_server_is_asked_by_urns(gms: Gms, graph: DataHubGraph) -> None:
    put(gms, urn_of("shop"))
    gms.fail("/openapi/v3/entity/scroll", status=405, times=99)
    assert [urn for urn, _ in scroll(graph, "dataset", NAMES)] == [urn_of("shop")]
    assert "/api/graphql" in paths(gms)
    assert "/openapi/v3/entity/dataset/batchGet" in paths(gms)


@pytest.mark.usefixtures("way")
def test_a_failing_server_is_not_taken_for_an_older_one(gms: Gms, graph: DataHubGraph) -> None:
    gms.fail("/", status=403, times=99, message="not for you")
    message = r"Entities of type dataset cannot be read from DataHub: 403.*not for you\. Check the"
    with pytest.raises(UnreadableCatalogError, match=message):
        list(scroll(graph, "dataset", NAMES))


def test_an_error_after_the_first_page_ends_the_reading(gms: Gms, graph: DataHubGraph) -> None:
    put(gms, *(urn_of(f"shop.{number}") for number in range(1_001)))
    found = scroll(graph, "dataset", NAMES)
    next(found)
    before = len(gms.requests)
    gms.fail("/", status=500, times=99)
    with pytest.raises(UnreadableCatalogError, match="Entities of type dataset cannot be read"):
        list(found)
    assert len(gms.requests) == before + 1


def test_an_entity_type_that_the_server_lacks_is_named() -> None:
    with Gms(without=["erModelRelationship"]) as gms:
        message = "DataHub's server has no entity type erModelRelationship"
        with pytest.raises(UnknownEntityTypeError, match=message):
            list(scroll(gms.graph(), "erModelRelationship", ["status"]))


def test_entities_are_fetched_in_batches(gms: Gms, graph: DataHubGraph) -> None:
    urns = [urn_of(f"shop.{number}") for number in range(1_001)]
    put(gms, *urns)
    gms.put(urns[0], StatusClass(removed=True))
    found = fetch(graph, "dataset", [*urns, urn_of("nowhere")], NAMES)
    assert found.keys() == set(urns)
    assert aspect_of(found[urns[0]], StatusClass) == StatusClass(removed=True)
    assert aspect_of(found[urns[1]], OwnershipClass) is None
    assert paths(gms).count("/openapi/v3/entity/dataset/batchGet") == 3


def test_a_malformed_list_of_urns_is_an_error(gms: Gms, graph: DataHubGraph) -> None:
    gms.fail("/openapi/v3/entity/scroll", status=404)
    gms.reply("/api/graphql", '{"data": {"scrollAcrossEntities": []}}')
    message = (
        "^Entities of type dataset cannot be read from DataHub: the response is not from DataHub's "
        "metadata service. Check the URL"
    )
    with pytest.raises(UnreadableCatalogError, match=message):
        list(scroll(graph, "dataset", NAMES))


def test_no_urns_take_no_request(gms: Gms, graph: DataHubGraph) -> None:
    assert fetch(graph, "dataset", [], NAMES) == {}
    assert not [path for path in paths(gms) if path.startswith("/openapi")]


def test_a_refused_batch_is_an_error(gms: Gms, graph: DataHubGraph) -> None:
    gms.fail("batchGet", status=401, message="no token")
    message = r"Entities of type dataset cannot be read from DataHub: 401.*no token\. Check the"
    with pytest.raises(UnreadableCatalogError, match=message):
        fetch(graph, "dataset", [urn_of("shop")], NAMES)


@pytest.mark.parametrize("error", [ValueError, AvroException, RecursionError])
@pytest.mark.parametrize("read", ["scroll", "fetch"])
def test_entities_that_the_client_cannot_read_are_reported(
    gms: Gms,
    graph: DataHubGraph,
    monkeypatch: pytest.MonkeyPatch,
    read: str,
    error: type[Exception],
) -> None:
    urns = [urn_of(f"shop.{number}") for number in range(9)]
    put(gms, *urns)
    refuse_to_read(urns[4], monkeypatch, error)
    told: list[tuple[str, str]] = []

    def warn(urn: str, reason: str) -> None:
        told.append((urn, reason))

    if read == "scroll":
        found = dict(scroll(graph, "dataset", NAMES, warn=warn))
    else:
        found = fetch(graph, "dataset", urns, NAMES, warn=warn)
    assert found.keys() == set(urns) - {urns[4]}
    assert told == [(urns[4], "DataHub's client cannot read it: name is of no known kind")]
