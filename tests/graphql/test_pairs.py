"""Test what is read of columns that have no relationship."""

from collections.abc import Callable

import pytest
from datahub.metadata.schema_classes import StatusClass, StructuredPropertiesClass
from datahub.metadata.schema_classes import StructuredPropertyValueAssignmentClass as Assignment

from datahub_hyperjoin.graphql import (
    accept,
    all_joins,
    find_join,
    joins_of_dataset,
    reject,
    undo,
)
from datahub_hyperjoin.graphql.errors import UnansweredError, UnknownNameError
from datahub_hyperjoin.graphql.pairs import read_decided_pairs, read_listed_pairs
from datahub_hyperjoin.graphql.read import catalog_reader
from datahub_hyperjoin.joins import Cardinality, Join, Role, Verdict
from datahub_hyperjoin.metadata.urns import (
    CONFIRMED_JOINS,
    JOIN_SUGGESTIONS,
    JOINABLE_WITH,
    NAMESPACE,
    column_urn,
    dataset_urn,
    property_urn,
)
from lakes.lake import describe
from lakes.shop import Shop, column, table

ORDERS, REGIONS = dataset_urn(table("orders")), dataset_urn(table("regions"))
ONE, OTHER = column("orders.country"), column("regions.country")
PAIR = f"{column_urn(ONE)} = {column_urn(OTHER)}"


@pytest.fixture(autouse=True)
def listed(shop: Shop) -> None:
    shop.list_partners("orders.country", "regions.country", 0.82, Role.REFERENCE)


def urns(joins: list[Join]) -> list[str]:
    return [join.urn for join in joins]


def test_what_columns_list_is_read_with_role_and_cardinality(shop: Shop) -> None:
    assert joins_of_dataset(shop.graph, ORDERS) == []
    (own,) = joins_of_dataset(shop.graph, ORDERS, members=True)
    assert (own.urn, own.joinability, own.band, own.role) == (PAIR, 0.82, "high", Role.REFERENCE)
    assert (own.left, own.referenced, own.cardinality) == (ONE, OTHER, Cardinality.MANY_ONE)
    (other,) = joins_of_dataset(shop.graph, REGIONS, members=True)
    assert (other.left, other.referenced, other.cardinality) == (
        OTHER,
        OTHER,
        Cardinality.ONE_MANY,
    )
    assert find_join(shop.graph, "orders.country = regions.country") == find_join(shop.graph, PAIR)


def test_a_pair_with_a_relationship_is_not_listed_twice(shop: Shop) -> None:
    urn = shop.suggest("orders.country", "regions.country", 0.82)
    assert urns(joins_of_dataset(shop.graph, ORDERS, members=True)) == [urn]
    shop.gms.put(urn, StatusClass(removed=True))
    assert joins_of_dataset(shop.graph, ORDERS, members=True) == []
    assert urns(joins_of_dataset(shop.graph, ORDERS, members=True, hidden=True)) == [urn]
    assert find_join(shop.graph, PAIR).urn == urn


READERS: list[Callable[[Shop], list[Join]]] = [
    lambda shop: joins_of_dataset(shop.graph, ORDERS),
    lambda shop: joins_of_dataset(shop.graph, REGIONS),
    lambda shop: all_joins(shop.graph),
    lambda shop: [*catalog_reader(shop.graph)([table("regions")])],
]


@pytest.mark.parametrize("read", READERS)
def test_a_decision_about_a_pair_is_read_everywhere(
    shop: Shop, read: Callable[[Shop], list[Join]]
) -> None:
    accept(shop.graph, PAIR)
    (accepted,) = read(shop)
    assert (accepted.urn, accepted.verdict, accepted.strength) == (PAIR, Verdict.ACCEPTED, 1)
    reject(shop.graph, PAIR)
    assert read(shop) == []
    assert [join.verdict for join in all_joins(shop.graph, hidden=True)] == [Verdict.REJECTED]
    assert undo(shop.graph, PAIR) == (Verdict.REJECTED,)
    assert all_joins(shop.graph, hidden=True) == []


def test_a_pair_that_was_accepted_and_is_hidden_since_is_not_read(shop: Shop) -> None:
    accept(shop.graph, PAIR)
    urn = shop.suggest("orders.country", "regions.country", 0.82)
    assert urns(all_joins(shop.graph)) == [urn]
    reject(shop.graph, urn)
    assert all_joins(shop.graph) == joins_of_dataset(shop.graph, REGIONS) == []


def test_a_decision_is_stored_at_the_path_that_datahub_has(shop: Shop) -> None:
    typed = "[version=2.0].[type=struct].[type=string].agent"
    describe(shop.gms, table("refunds").name, [typed], platform="postgres")
    accept(shop.graph, "refunds.agent = regions.country")
    (stored,) = [urn for urn in shop.gms.urns("schemaField") if "refunds" in urn]
    assert stored == column_urn(column(f"refunds.{typed}"))
    (found,) = all_joins(shop.graph)
    assert found.condition == "shop.public.refunds.agent = shop.public.regions.country"
    assert undo(shop.graph, found.urn) == (Verdict.ACCEPTED,)
    assert all_joins(shop.graph) == []


def test_decisions_about_other_datasets_are_not_read(shop: Shop) -> None:
    accept(shop.graph, PAIR)
    assert urns(read_decided_pairs(shop.graph, [REGIONS])) == [PAIR]
    assert read_decided_pairs(shop.graph, [dataset_urn(table("refunds"))]) == []


def test_properties_that_somebody_removed_hold_no_decision(shop: Shop) -> None:
    accept(shop.graph, PAIR)
    shop.gms.put(property_urn(NAMESPACE, CONFIRMED_JOINS), StatusClass(removed=True))
    assert read_decided_pairs(shop.graph) == []


def test_a_server_that_does_not_answer_is_no_lack_of_decisions(shop: Shop) -> None:
    shop.gms.fail("POST /api/graphql", 500, message="disk full", times=9)
    with pytest.raises(UnansweredError, match="decided_columns: 500 Internal Server Error"):
        read_decided_pairs(shop.graph)


def test_what_people_wrote_instead_of_columns_is_no_pair(shop: Shop) -> None:
    values = [ORDERS, column_urn(ONE)]
    names = (CONFIRMED_JOINS, JOINABLE_WITH)
    assigned = [Assignment(property_urn(NAMESPACE, name), [*values]) for name in names]
    texts = Assignment(property_urn(NAMESPACE, JOIN_SUGGESTIONS), ["a · b (0.90, same key)"] * 2)
    shop.gms.put(column_urn(ONE), StructuredPropertiesClass([*assigned, texts]))
    assert read_decided_pairs(shop.graph) == []
    assert read_listed_pairs(shop.graph, ORDERS) == []


@pytest.mark.parametrize("address", [
    "urn:li:schemaField:(a) = urn:li:schemaField:(b)",
    f"{column_urn(ONE)} = {column_urn(ONE)}",
    column_urn(ONE),
])  # fmt: skip
def test_an_address_names_two_columns(shop: Shop, address: str) -> None:
    with pytest.raises(UnknownNameError, match="the catalog has no join"):
        accept(shop.graph, address)
