"""Test which references are found without comparing values."""

from collections.abc import Mapping

import pytest

from datahub_hyperjoin.catalog_facts import CatalogFacts, ColumnStatistics
from datahub_hyperjoin.joins import CatalogEvidence, Verdict
from datahub_hyperjoin.model.lake import Lake
from datahub_hyperjoin.model.roles.named_references import (
    find_named_candidates,
    find_named_references,
)
from datahub_hyperjoin.model.signals.priors import CatalogPriors
from datahub_hyperjoin.tables import DataType, DescribedTable, TableId, describe_columns
from lakes.handmade import column, facts_of, lake_of, numbers

Headers = Mapping[str, str]
NO_FACTS = CatalogFacts()
SHOP = {
    "customers": "id name email",
    "orders": "id customer_id ordered_at total",
    "order_lines": "id order_id product_id quantity",
    "products": "id title price",
    "product_tags": "product_id tag_id",
    "tags": "id label",
    "shipments": "id order_id home_address_id",
    "addresses": "id street town",
    "employees": "id name manager_id",
    "offices": "id town",
}


def described(headers: Headers, kind: DataType = DataType.TEXT) -> Lake:
    tables = [
        DescribedTable(
            id=TableId("file", name),
            title=name,
            columns=describe_columns(
                TableId("file", name), [(path, kind) for path in header.split()]
            ),
        )
        for name, header in headers.items()
    ]
    return Lake.from_tables([]).with_described(tables)


def find(lake: Lake, facts: CatalogFacts = NO_FACTS) -> dict[str, str]:
    """Map each column to the key that it refers to with a probability of at least one half."""
    references = find_named_references(lake, CatalogPriors.from_facts(lake, facts))
    names = [str(id_) for id_ in lake.ids]
    return {names[a]: names[b] for a, (b, likely) in references.best.items() if likely >= 0.5}


def test_a_schema_without_rows_tells_its_references() -> None:
    assert find(described(SHOP)) == {
        "orders.customer_id": "customers.id",
        "order_lines.order_id": "orders.id",
        "order_lines.product_id": "products.id",
        "product_tags.product_id": "products.id",
        "product_tags.tag_id": "tags.id",
        "shipments.order_id": "orders.id",
        "shipments.home_address_id": "addresses.id",
        "employees.manager_id": "employees.id",
    }


def test_names_that_nothing_explains_refer_to_nothing() -> None:
    assert find(described({"a": "id wind rain", "b": "id rank paid", "c": "id cost"})) == {}


def test_prefixes_plurals_and_styles_do_not_matter() -> None:
    names = {
        "DimCustomers": "CustomerKey Name",
        "DimStores": "StoreKey Town",
        "DimDays": "DayKey Year",
        "FactSales": "CustomerKey StoreKey DayKey Amount",
    }
    assert find(described(names)) == {
        f"FactSales.{each}Key": f"Dim{each}s.{each}Key" for each in ("Customer", "Store", "Day")
    }


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param(
            {"T_CUSTOMER": "CUST_NO NAME", "T_ORDER": "ORD_NO ORD_CUST_NO", "T_NOTE": "TEXT"},
            {"T_ORDER.ORD_CUST_NO": "T_CUSTOMER.CUST_NO"},
            id="an abbreviation of the table",
        ),
        pytest.param(
            {"ciudades": "id_ciudad nombre", "clientes": "id_cliente nombre id_ciudad"},
            {"clientes.id_ciudad": "ciudades.id_ciudad"},
            id="a plural of another language",
        ),
        pytest.param(
            {
                "crew_member": "crew_id name",
                "flight": "flight_id",
                "flight_crew": "flight_id crew_id",
            },
            {
                "flight_crew.crew_id": "crew_member.crew_id",
                "flight_crew.flight_id": "flight.flight_id",
            },
            id="a part of the table's name, and not in a table of links",
        ),
        pytest.param(
            {
                "dim_store": "store_sk town",
                "dim_date": "date_sk year",
                "dim_item": "item_sk label",
                "fact_sales": "ship_date_sk store_sk item_sk",
            },
            {
                "fact_sales.ship_date_sk": "dim_date.date_sk",
                "fact_sales.store_sk": "dim_store.store_sk",
                "fact_sales.item_sk": "dim_item.item_sk",
            },
            id="the lake's own word for keys",
        ),
        pytest.param(
            {"AppUser": "id email", "Visit": "id userId startedAt"},
            {"Visit.userId": "AppUser.id"},
            id="the last word of a table's name",
        ),
        pytest.param(
            {"people": "person_id name", "children": "child_id person_id"},
            {"children.person_id": "people.person_id"},
            id="an irregular plural",
        ),
        pytest.param(
            {"comments": "id reply_to_comment_id body", "tags": "id label"},
            {"comments.reply_to_comment_id": "comments.id"},
            id="a role within the table",
        ),
        pytest.param(
            {"users": "id email", "payments": "id amount created_by", "tags": "id label"},
            {"payments.created_by": "users.id"},
            id="the people who act",
        ),
    ],
)
def test_references_are_found_in_the_names_of(headers: Headers, expected: dict[str, str]) -> None:
    assert find(described(headers)) == expected


@pytest.mark.parametrize(("header", "unlike"), [("shop_id state", {1.0}), ("shop state", {0.0})])
def test_a_name_without_a_mark_is_doubtful_beside_names_that_have_one(
    header: str, unlike: set[float]
) -> None:
    lake = described({"states": "id name", "shops": "id label", "orders": header})
    named = find_named_candidates(lake, CatalogPriors.from_facts(lake, NO_FACTS))
    state = [str(id_) for id_ in lake.ids].index("orders.state")
    of_state = named.candidates.referring == state
    assert {*named.clues["unlike_others"][of_state].tolist()} == unlike


def test_an_author_ranks_people_first_but_is_no_sure_reference() -> None:
    lake = described({"users": "id email", "reviews": "id author_id stars", "tags": "id label"})
    references = find_named_references(lake, CatalogPriors.from_facts(lake, NO_FACTS))
    names = [str(id_) for id_ in lake.ids]
    key, likely = references.best[names.index("reviews.author_id")]
    assert names[key] == "users.id"
    assert likely < 0.9


def test_declared_types_that_no_key_has_are_left_out() -> None:
    assert find(described(SHOP, DataType.INTEGER)) == find(described(SHOP))
    assert find(described(SHOP, DataType.TIMESTAMP)) == {}


@pytest.mark.parametrize(("uniqueness", "refers"), [(1.0, True), (0.2, False)])
def test_the_counts_of_the_catalog_say_which_column_is_a_key(
    uniqueness: float, *, refers: bool
) -> None:
    counts = ColumnStatistics(uniqueness=uniqueness, completeness=1.0)
    facts = CatalogFacts(statistics={column("customers.id"): counts})
    assert ("orders.customer_id" in find(described(SHOP), facts)) is refers


def test_what_people_decided_and_the_catalog_declares_is_kept() -> None:
    pair, odd = ("orders.customer_id", "customers.id"), ("orders.total", "tags.id")
    facts = facts_of(
        {
            pair: CatalogEvidence(verdict=Verdict.REJECTED),
            odd: CatalogEvidence(declared="fk_odd"),
        }
    )
    found = find(described(SHOP), facts)
    assert found.get("orders.customer_id") != "customers.id"
    assert found["orders.total"] == "tags.id"


def test_a_table_that_was_read_and_one_that_was_not_are_paired() -> None:
    read = lake_of({"customers": {"id": numbers(1, 80), "name": [f"n{at}" for at in range(79)]}})
    lake = read.with_described(
        [
            DescribedTable(
                id=TableId("file", "orders"),
                title="orders",
                columns=describe_columns(
                    TableId("file", "orders"),
                    [("id", DataType.TEXT), ("customer_id", DataType.TEXT)],
                ),
            )
        ]
    )
    assert find(lake) == {"orders.customer_id": "customers.id"}


def test_a_column_refers_to_the_key_whose_values_are_as_long_as_its_own() -> None:
    codes = [f"{one}{other}" for one in "ABCDEFGH" for other in "ABCDEFGH"]
    airports = {
        "name": [f"Airport of {code} and others" for code in codes],
        "icao": [f"K{code}X" for code in codes],
        "iata": [f"{code}X" for code in codes],
    }
    # Most tables of the lake have longer keys.
    others = {
        f"town{at}": {"name": [f"{at} street of {code}" for code in codes]} for at in range(9)
    }
    routes = {"leg": [f"leg number {at}" for at in range(90)], "airport": airports["iata"][:45] * 2}
    lake = lake_of({"airports": airports, "routes": routes, **others})
    assert find(lake)["routes.airport"] == "airports.iata"
