"""Test that the SQL of joins is read from their query entities."""

import pytest
from datahub.metadata.schema_classes import (
    AuditStampClass,
    QueryLanguageClass,
    QueryPropertiesClass,
    QuerySourceClass,
    QueryStatementClass,
)

from datahub_hyperjoin.graphql import find_join
from datahub_hyperjoin.graphql.errors import UnansweredError
from datahub_hyperjoin.graphql.read import statements_of_joins
from datahub_hyperjoin.joins import Join, Statement
from datahub_hyperjoin.metadata.urns import query_urn
from lakes.shop import Shop


def suggest(shop: Shop, one: str, other: str) -> Join:
    return find_join(shop.graph, shop.suggest(one, other, 0.9))


def store(shop: Shop, join: Join, sql: str, **properties: str) -> None:
    stamp = AuditStampClass(time=0, actor="urn:li:corpuser:a")
    aspect = QueryPropertiesClass(
        statement=QueryStatementClass(value=sql, language=QueryLanguageClass.SQL),
        source=QuerySourceClass.MANUAL,
        customProperties=properties,
        created=stamp,
        lastModified=stamp,
    )
    shop.gms.put(query_urn(join.urn), aspect)


def test_statements_are_read_for_many_joins_at_once(shop: Shop) -> None:
    with_sql = suggest(shop, "orders.customer", "customers.id")
    edited = suggest(shop, "orders.region", "regions.id")
    withdrawn = suggest(shop, "orders.payer", "customers.id")
    without = suggest(shop, "refunds.order", "orders.id")
    store(shop, with_sql, "SELECT 1", model_version="1")
    store(shop, edited, "SELECT 2")
    store(shop, withdrawn, "SELECT 3", model_version="1", withdrawn_by="run-7")
    shop.gms.requests.clear()
    found = statements_of_joins(shop.graph, [with_sql, edited, withdrawn, without])
    assert {urn: statement.sql for urn, statement in found.items()} == {
        with_sql.urn: "SELECT 1",
        edited.urn: "SELECT 2",
    }
    assert len(shop.gms.requests) == 1


def test_statements_are_read_with_the_dialect_in_which_they_were_run(shop: Shop) -> None:
    new = suggest(shop, "orders.customer", "customers.id")
    old = suggest(shop, "orders.region", "regions.id")
    store(shop, new, "SELECT 1", sql_dialect="mysql")
    store(shop, old, "SELECT 2")
    assert statements_of_joins(shop.graph, [new, old]) == {
        new.urn: Statement(sql="SELECT 1", dialect="mysql"),
        old.urn: Statement(sql="SELECT 2"),
    }


def test_no_joins_need_no_request(shop: Shop) -> None:
    shop.gms.requests.clear()
    assert statements_of_joins(shop.graph, []) == {}
    assert shop.gms.requests == []


def test_a_failing_server_is_an_error(shop: Shop) -> None:
    join = suggest(shop, "orders.customer", "customers.id")
    shop.gms.fail("POST /api/graphql", message="disk full")
    with pytest.raises(UnansweredError, match=r"^DataHub does not answer sql_of_joins: 500 "):
        statements_of_joins(shop.graph, [join])
