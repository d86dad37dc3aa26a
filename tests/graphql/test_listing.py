"""Test that joins and columns are listed from a server over HTTP."""

from collections.abc import Sequence

import pytest
from datahub.metadata.schema_classes import (
    StatusClass,
    StructuredPropertiesClass,
    StructuredPropertyDefinitionClass,
    StructuredPropertyValueAssignmentClass,
)

from datahub_hyperjoin.graphql import (
    all_joins,
    columns_above,
    joinable_columns,
    joins_in_band,
    joins_of_column,
    joins_of_dataset,
    operations,
)
from datahub_hyperjoin.graphql.read import catalog_reader
from datahub_hyperjoin.joins import Cardinality, Join
from datahub_hyperjoin.metadata.urns import (
    BEST_JOIN_SCORE,
    JOINABLE_WITH,
    column_urn,
    dataset_urn,
    property_urn,
)
from lakes.shop import Shop, column, table

ORDERS, NAMESPACE = dataset_urn(table("orders")), "io.datahub.hyperjoin"


def conditions(joins: list[Join]) -> list[str]:
    return [join.condition.replace("shop.public.", "") for join in joins]


def test_a_datasets_joins_come_best_first_with_it_on_the_left(shop: Shop) -> None:
    shop.suggest("refunds.order", "orders.id", 0.7)
    shop.suggest("orders.customer", "customers.id", 0.93)
    shop.suggest("customers.region", "regions.id", 0.9)
    best, other = joins_of_dataset(shop.graph, ORDERS)
    assert conditions([best, other]) == [
        "orders.customer = customers.id",
        "orders.id = refunds.order",
    ]
    assert (best.joinability, best.band, best.verdict) == (0.93, "high", None)
    assert (other.joinability, other.band) == (0.7, "medium")


def test_cardinality_is_read_from_the_dataset(shop: Shop) -> None:
    shop.suggest("orders.customer", "customers.id", 0.93)  # one customer, many orders
    for name, expected in (("orders", Cardinality.MANY_ONE), ("customers", Cardinality.ONE_MANY)):
        (join,) = joins_of_dataset(shop.graph, dataset_urn(table(name)))
        assert (join.left.table, join.cardinality) == (table(name), expected)


def test_a_minimum_score_excludes_suggestions_only(shop: Shop) -> None:
    shop.suggest("orders.customer", "customers.id", 0.93)
    shop.suggest("refunds.order", "orders.id", 0.7)
    shop.write("by hand", ("orders.region", "regions.id"))
    found = joins_of_dataset(shop.graph, ORDERS, min_score=0.93)
    assert [join.score for join in found] == [None, 0.93]


def test_hidden_joins_are_listed_on_request(shop: Shop) -> None:
    urn = shop.suggest("orders.customer", "customers.id", 0.93)
    shop.gms.put(urn, StatusClass(removed=True))
    assert joins_of_dataset(shop.graph, ORDERS) == all_joins(shop.graph) == []
    (of_dataset,) = joins_of_dataset(shop.graph, ORDERS, hidden=True)
    (of_all,) = all_joins(shop.graph, hidden=True)
    assert of_dataset.is_hidden
    assert of_all.is_hidden


def test_a_column_has_simple_and_composite_joins(shop: Shop) -> None:
    shop.suggest("orders.customer", "customers.id", 0.93)
    shop.suggest("refunds.order", "orders.id", 0.7)
    shop.write("both", ("refunds.shop", "orders.shop"), ("refunds.order", "orders.id"))
    assert conditions(joins_of_column(shop.graph, ORDERS, "[version=2.0].[type=int].id")) == [
        "orders.shop = refunds.shop and orders.id = refunds.order",
        "orders.id = refunds.order",
    ]
    assert joins_of_column(shop.graph, ORDERS, "order") == []


def test_every_page_of_a_search_is_read(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "_PAGE", 2)
    urns = {shop.suggest(f"orders.a{number}", "customers.id", 0.9) for number in range(5)}
    assert {join.urn for join in joins_in_band(shop.graph, "high")} == urns
    assert sum(request.path == "/api/graphql" for request in shop.gms.requests) == 3


def test_the_joins_of_a_dataset_cost_two_requests_however_many_others_have(shop: Shop) -> None:
    for number in range(600):
        shop.suggest(f"refunds.a{number}", "regions.id", 0.9)
    urns = {shop.suggest(f"orders.a{number}", "customers.id", 0.9) for number in range(200)}
    shop.gms.requests.clear()
    assert {join.urn for join in joins_of_dataset(shop.graph, ORDERS)} == urns
    # One for the relationships, and one for what people decided at columns.
    assert len(shop.gms.requests) == 2


def test_the_joins_of_many_datasets_are_read_in_parts(shop: Shop) -> None:
    urns = {shop.suggest(f"t{number}.a", f"t{number + 1}.id", 0.9) for number in range(149)}
    shop.gms.requests.clear()
    found = [*catalog_reader(shop.graph)([table(f"t{number}") for number in range(150)])]
    assert len(found) == len(urns)
    assert {join.urn for join in found} == urns
    assert len(shop.gms.requests) == 4


def test_every_page_of_all_joins_is_read(shop: Shop) -> None:
    urns = {shop.suggest(f"orders.a{number}", "customers.id", 0.9) for number in range(501)}
    assert {join.urn for join in all_joins(shop.graph)} == urns
    assert sum(request.path == "/api/graphql" for request in shop.gms.requests) == 3


def test_a_band_has_its_joins(shop: Shop) -> None:
    shop.suggest("orders.customer", "customers.id", 0.93)
    medium = shop.suggest("refunds.order", "orders.id", 0.7)
    assert [join.urn for join in joins_in_band(shop.graph, "medium")] == [medium]


def define(shop: Shop, name: str, kind: str) -> str:
    urn = property_urn(NAMESPACE, name)
    definition = StructuredPropertyDefinitionClass(
        qualifiedName=f"{NAMESPACE}.{name}",
        valueType=f"urn:li:dataType:datahub.{kind}",
        entityTypes=["urn:li:entityType:datahub.schemaField"],
        cardinality="MULTIPLE" if kind == "urn" else "SINGLE",
    )
    shop.gms.put(urn, definition)
    return urn


def assign(shop: Shop, name: str, own: str, values: Sequence[str | float]) -> None:
    assigned = StructuredPropertyValueAssignmentClass(own, list(values))
    shop.gms.put(column_urn(column(name)), StructuredPropertiesClass([assigned]))


def test_a_column_lists_its_partners_best_first(shop: Shop) -> None:
    own_property = define(shop, JOINABLE_WITH, "urn")
    partners = [column("regions.id"), column("customers.id")]
    assign(shop, "orders.customer", own_property, [column_urn(one) for one in partners])
    own, other = (column_urn(column(name)) for name in ("orders.customer", "orders.id"))
    assert joinable_columns(shop.graph, own, namespace=NAMESPACE) == partners
    assert joinable_columns(shop.graph, other, namespace=NAMESPACE) == []


def test_columns_above_a_score_come_best_first(shop: Shop) -> None:
    own = define(shop, BEST_JOIN_SCORE, "number")
    for name, score in (("orders.a", 0.79), ("orders.b", 0.8), ("orders.c", 0.95)):
        assign(shop, name, own, [score])
    found = columns_above(shop.graph, 0.8, namespace=NAMESPACE)
    assert found == [(column("orders.c"), 0.95), (column("orders.b"), 0.8)]
