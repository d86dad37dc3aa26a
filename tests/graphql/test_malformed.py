"""Test that malformed responses raise errors that name the operation."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import DatasetPropertiesClass

from datahub_hyperjoin.graphql import (
    accept,
    all_joins,
    columns_above,
    find_dataset,
    find_join,
    joinable_columns,
    joins_of_dataset,
)
from datahub_hyperjoin.graphql.errors import UnansweredError
from datahub_hyperjoin.graphql.operations import execute
from datahub_hyperjoin.metadata.urns import column_urn, dataset_urn
from datahub_hyperjoin.tables import TableId
from lakes.shop import Shop, column, table

ORDERS, CUSTOMER = dataset_urn(table("orders")), column_urn(column("orders.customer"))
NAMESPACE = "io.datahub.hyperjoin"
URN = "urn:li:erModelRelationship:a"

Read = Callable[[DataHubGraph], object]
READS: dict[str, Read] = {
    "all_joins": all_joins,
    "join": lambda graph: find_join(graph, URN),
    "joins_by_name": lambda graph: find_join(graph, "bought by"),
    "datasets_by_name": lambda graph: find_dataset(graph, "orders"),
    "joins_of_datasets": lambda graph: joins_of_dataset(graph, ORDERS),
    "joinable_columns": lambda graph: joinable_columns(graph, CUSTOMER, namespace=NAMESPACE),
    "columns_above": lambda graph: columns_above(graph, 0.5, namespace=NAMESPACE),
}


def refused(name: str) -> str:
    return (
        f"^DataHub does not answer {name}: the response is not from DataHub's metadata service. "
        "Try again; if the error persists, check the server's log$"
    )


@pytest.mark.parametrize(
    "body",
    [
        "null",
        "[]",
        "{}",
        '{"data": null}',
        '{"data": []}',
        '{"data": {}}',
        "<html>Please log in</html>",
        "[" * 100_000,
    ],
    ids=lambda body: body[:20],
)
@pytest.mark.parametrize("name", READS)
def test_an_answer_of_another_form_is_refused(shop: Shop, name: str, body: str) -> None:
    shop.gms.reply("POST /api/graphql", body)
    with pytest.raises(UnansweredError, match=refused(name)):
        READS[name](shop.graph)


def page(*entities: object, **changes: object) -> dict[str, Any]:
    """Make a page of a search or scroll response, and replace some of its values."""
    found = [{"entity": entity} for entity in entities]
    return {"start": 0, "total": 1, "nextScrollId": None, "searchResults": found, **changes}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("all_joins", {"scrollAcrossEntities": None}),
        ("all_joins", {"scrollAcrossEntities": page(searchResults=None)}),
        ("all_joins", {"scrollAcrossEntities": page(searchResults=[{}])}),
        ("all_joins", {"scrollAcrossEntities": {"searchResults": []}}),
        ("joins_by_name", {"searchAcrossEntities": page(searchResults=[{}])}),
        ("joins_by_name", {"searchAcrossEntities": page(total=None)}),
        ("datasets_by_name", {"searchAcrossEntities": page({"properties": {"name": "a"}})}),
        ("datasets_by_name", {"searchAcrossEntities": page({"urn": ["urn:li:dataset:a"]})}),
        ("datasets_by_name", {"searchAcrossEntities": page("urn:li:dataset:a")}),
        ("joinable_columns", {"entity": [None]}),
        ("columns_above", {"searchAcrossEntities": page(["a"])}),
    ],
)
def test_a_result_that_lacks_a_part_is_refused(
    shop: Shop, name: str, data: dict[str, object]
) -> None:
    shop.gms.reply("POST /api/graphql", json.dumps({"data": data}))
    with pytest.raises(UnansweredError, match=refused(name)):
        READS[name](shop.graph)


JOIN: dict[str, Any] = {
    "urn": URN,
    "properties": {
        "name": "orders.customer = customers.id",
        "source": {"urn": ORDERS},
        "destination": {"urn": dataset_urn(table("customers"))},
        "cardinality": "N_ONE",
        "relationshipFieldMappings": [{"sourceField": "customer", "destinationField": "id"}],
    },
}


@pytest.mark.parametrize(
    "changes",
    [
        {"name": 1, "cardinality": "MANY"},
        {"source": {"urn": {}}},
        {"source": None},
        {"relationshipFieldMappings": [{"sourceField": "customer"}]},
        {"relationshipFieldMappings": 3},
    ],
)
@pytest.mark.parametrize("name", ["all_joins", "join", "joins_of_datasets"])
def test_a_join_that_lacks_a_part_is_refused(
    shop: Shop, name: str, changes: dict[str, object]
) -> None:
    join = {**JOIN, "properties": {**JOIN["properties"], **changes}}
    data = {
        "scrollAcrossEntities": page(join),
        "searchAcrossEntities": page(join),
        "erModelRelationship": join,
    }
    shop.gms.reply("POST /api/graphql", json.dumps({"data": data}))
    with pytest.raises(UnansweredError, match=refused("join")):
        READS[name](shop.graph)


def test_a_decision_is_not_taken_for_made(shop: Shop) -> None:
    urn = shop.suggest("orders.customer", "customers.id", 0.93)
    shop.gms.reply("GET /aspects", "null")
    with pytest.raises(UnansweredError, match=refused("tag")):
        accept(shop.graph, urn)
    shop.gms.reply("POST /api/graphql", '{"data": null}')
    with pytest.raises(UnansweredError, match=refused("accept_join")):
        execute(shop.graph, "accept_join", join=urn)
    assert find_join(shop.graph, urn).verdict is None


def test_a_dataset_whose_urn_no_table_can_have_is_not_offered(shop: Shop) -> None:
    odd = "urn:li:dataset:(urn:li:dataPlatform:postgres,orders)"
    shop.gms.put(dataset_urn(TableId("mysql", "new")), DatasetPropertiesClass(name="new"))
    found = page({"urn": odd}, None, {"urn": ORDERS, "properties": None}, total=3)
    shop.gms.reply("POST /api/graphql", json.dumps({"data": {"searchAcrossEntities": found}}))
    assert find_dataset(shop.graph, "orders") == ORDERS


def test_a_value_that_names_no_column_is_left_out(shop: Shop) -> None:
    own = {"urn": f"urn:li:structuredProperty:{NAMESPACE}.joinableWith"}
    values = [{"stringValue": urn} for urn in (ORDERS, CUSTOMER)]
    entity = {
        "structuredProperties": {"properties": [{"structuredProperty": own, "values": values}]}
    }
    shop.gms.reply("POST /api/graphql", json.dumps({"data": {"entity": entity}}))
    found = joinable_columns(shop.graph, CUSTOMER, namespace=NAMESPACE)
    assert found == [column("orders.customer")]
