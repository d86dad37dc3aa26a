import json
from collections.abc import Callable

import pytest
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    AuditStampClass,
    QueryPropertiesClass,
    QueryStatementClass,
    QuerySubjectClass,
    QuerySubjectsClass,
    StatusClass,
)

from datahub_hyperjoin.catalog.datasets import Dataset
from datahub_hyperjoin.catalog.usage import count_joins
from datahub_hyperjoin.errors import UnknownEntityTypeError
from datahub_hyperjoin.metadata.urns import column_urn, dataset_urn
from datahub_hyperjoin.tables import ColumnId, Pair, TableId, pair_of
from gms import Gms
from gms.clients import NEEDS_SCROLLING

ORDERS, CUSTOMERS = (TableId("postgres", f"shop.public.{name}") for name in ("orders", "customers"))
DATASETS = [
    Dataset(table=ORDERS, title="orders", columns=(("id", "id"), ("customer_id", "customer_id"))),
    Dataset(
        table=CUSTOMERS,
        title="customers",
        columns=(
            ("id", "[version=2.0].[type=int].id"),
            ("name", "[version=2.0].[type=string].name"),
        ),
    ),
]
BY_CUSTOMER = pair_of(ColumnId(ORDERS, "customer_id"), ColumnId(CUSTOMERS, "id"))
BY_ID = pair_of(ColumnId(ORDERS, "id"), ColumnId(CUSTOMERS, "id"))
JOIN = "SELECT name FROM orders JOIN customers c ON customer_id = c.id"
OTHER_JOIN = "SELECT name FROM orders JOIN customers c ON orders.id = c.id"

Warnings = list[tuple[str, str, str]]
Warn = Callable[[str, str, str], None]
Put = Callable[..., str]


@pytest.fixture
def put(gms: Gms) -> Put:
    """Return a function that stores queries, each newer than the one before."""
    urns: list[str] = []

    def store(
        statement: str,
        *subjects: str,
        properties: dict[str, str] | None = None,
    ) -> str:
        # Search gives them in another order than that of their age.
        urn = f"urn:li:query:{1000 - len(urns)}"
        urns.append(urn)
        stamp = AuditStampClass(time=len(urns), actor="urn:li:corpuser:ada")
        about = subjects or (dataset_urn(ORDERS), dataset_urn(CUSTOMERS))
        gms.put(
            urn,
            QueryPropertiesClass(
                statement=QueryStatementClass(value=statement, language="SQL"),
                source="SYSTEM",
                created=stamp,
                lastModified=stamp,
                customProperties=properties,
            ),
        )
        gms.put(urn, QuerySubjectsClass([QuerySubjectClass(entity=one) for one in about]))
        return urn

    return store


@pytest.fixture
def count(graph: DataHubGraph, warn: Warn) -> Callable[..., dict[Pair, int]]:
    def read(most: int = 1000) -> dict[Pair, int]:
        return count_joins(graph, DATASETS, most=most, warn=warn)

    return read


Count = Callable[..., dict[Pair, int]]


def test_queries_are_counted_by_pair(put: Put, count: Count, warnings: Warnings) -> None:
    put(JOIN)
    put(JOIN + " WHERE name > 'M'")
    put(OTHER_JOIN)
    put("SELECT name FROM customers")
    assert count() == {BY_CUSTOMER: 2, BY_ID: 1}
    assert warnings == []


def test_a_query_counts_once_for_a_pair(put: Put, count: Count) -> None:
    put(f"{JOIN} UNION ALL {JOIN}")
    assert count() == {BY_CUSTOMER: 1}


def test_our_own_queries_do_not_count(put: Put, count: Count) -> None:
    put(JOIN, properties={"model_version": "hin 1"})
    assert count() == {}
    put(JOIN, properties={"team": "sales"})
    assert count() == {BY_CUSTOMER: 1}


def test_queries_on_other_tables_are_ignored(put: Put, count: Count, warnings: Warnings) -> None:
    put("not SQL", dataset_urn(TableId("postgres", "elsewhere")), column_urn(BY_ID[0]))
    assert (count(), warnings) == ({}, [])


def test_deleted_queries_do_not_count(gms: Gms, put: Put, count: Count) -> None:
    gms.put(put(JOIN), StatusClass(removed=True))
    assert count() == {}


def test_only_the_newest_queries_are_read(put: Put, count: Count) -> None:
    put(JOIN)
    put(OTHER_JOIN)
    put(OTHER_JOIN)
    assert count(most=2) == {BY_ID: 2}
    assert count(most=3) == {BY_ID: 2, BY_CUSTOMER: 1}


def test_a_limit_of_0_sends_no_request(gms: Gms, put: Put, count: Count) -> None:
    put(JOIN)
    before = len(gms.requests)
    assert count(most=0) == {}
    assert len(gms.requests) == before


def test_statements_that_cannot_be_parsed_are_counted(
    put: Put, count: Count, warnings: Warnings
) -> None:
    put("SELECT foo(")
    put(JOIN)
    newest = put("{{ not SQL }}")
    assert count() == {BY_CUSTOMER: 1}
    assert warnings == [
        (
            "SQL queries not parsed",
            "The joins in these SQL queries are not counted as evidence",
            f"2 of 3, for example {newest}",
        )
    ]


@NEEDS_SCROLLING
def test_a_malformed_query_is_skipped(gms: Gms, put: Put, count: Count, warnings: Warnings) -> None:
    urn = put(JOIN)
    subjects = {"subjects": [{"entity": {"urn": dataset_urn(ORDERS)}}]}
    entity = {**{name: {"value": value} for name, value in gms.aspects(urn).items()}, "urn": urn}
    entity["querySubjects"] = {"value": subjects}
    gms.reply("entity/scroll", json.dumps({"entities": [entity]}))
    assert count() == {}
    (warning,) = warnings
    assert warning[0] == "Entities skipped"
    assert warning[2] == f"{urn}: it cannot be parsed: TypeError: unhashable type: 'dict'"


def test_very_long_statements_are_ignored(put: Put, count: Count, warnings: Warnings) -> None:
    put(JOIN + " -- " + "x" * 100_000)
    assert (count(), warnings) == ({}, [])


def test_a_server_without_queries_is_reported(warn: Warn) -> None:
    with (
        Gms(without=["query"]) as gms,
        pytest.raises(UnknownEntityTypeError, match="has no entity type query"),
    ):
        count_joins(gms.graph(retry_max_times=0), DATASETS, most=1, warn=warn)
