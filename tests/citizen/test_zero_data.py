"""Test that tables without readable rows get suggestions by name, marked as unverified."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from datahub.metadata.schema_classes import (
    ERModelRelationshipPropertiesClass,
    GlobalTagsClass,
    StatusClass,
    StructuredPropertiesClass,
    TagAssociationClass,
)

from datahub_hyperjoin.metadata.urns import ACCEPTED, REJECTED, column_urn
from datahub_hyperjoin.tables import ColumnId, TableId
from gms import Gms
from lakes.lake import codes, describe, describe_folder, write_table

Ingest = Callable[..., str]
SCHEMA = {
    "customers": ["id", "name", "email"],
    "orders": ["id", "customer_id", "minutes"],
    "order_lines": ["id", "order_id", "product_id"],
    "products": ["id", "title"],
}
LAYERS = {"queries": True, "lineage": True}


@pytest.fixture
def server() -> Any:  # noqa: ANN401 - a generator
    """Set up a server with the schema of a database that cannot be read."""
    with Gms() as gms:
        for name, paths in SCHEMA.items():
            describe(gms, f"shop.public.{name}", paths, platform="postgres")
        yield gms


def joins(gms: Gms) -> dict[str, str]:
    """Map the name of each visible relationship to its confidence band."""
    found = {}
    for urn in gms.urns("erModelRelationship"):
        aspect, status = (
            gms.get(urn, ERModelRelationshipPropertiesClass),
            gms.get(urn, StatusClass),
        )
        if aspect and not (status and status.removed):
            name = aspect.name.replace("shop.public.", "")
            found[name] = aspect.customProperties["band"]
    return found


def tags(gms: Gms) -> set[str]:
    return {
        tag.tag.removeprefix("urn:li:tag:join:")
        for urn in gms.urns("erModelRelationship")
        for tag in (gms.get(urn, GlobalTagsClass) or GlobalTagsClass(tags=[])).tags
    }


EXPECTED = {
    "orders.customer_id = customers.id": "unverified",
    "order_lines.order_id = orders.id": "unverified",
    "order_lines.product_id = products.id": "unverified",
}


def test_a_recipe_with_a_server_only_suggests_by_names(
    server: Gms, run: Callable[..., str]
) -> None:
    output = run(server, catalog="datahub", emit=LAYERS)
    assert joins(server) == EXPECTED
    assert tags(server) == {"suggested-unverified", "reference"}
    assert "No join was verified on data." in output
    assert "No joins found" not in output
    assert "3 joins are suggested by names, and not verified on data:" in output
    assert server.urns("query") == []
    column = ColumnId(TableId("postgres", "shop.public.orders"), "customer_id")
    properties = server.get(column_urn(column), StructuredPropertiesClass)
    assert properties
    assert "many to one, not verified on data)" in str(properties)
    before = len(server.writes)
    run(server, catalog="datahub", emit=LAYERS)
    written = {write.aspect for write in server.writes[before:]}
    assert "erModelRelationshipProperties" not in written
    assert "structuredProperties" not in written


def test_a_suggestion_goes_when_its_column_goes(server: Gms, run: Callable[..., str]) -> None:
    run(server, catalog="datahub")
    describe(server, "shop.public.orders", ["id", "minutes"], platform="postgres")
    run(server, catalog="datahub")
    assert joins(server).keys() == EXPECTED.keys() - {"orders.customer_id = customers.id"}


def test_what_people_accepted_stays_and_what_they_rejected_goes(
    server: Gms, run: Callable[..., str]
) -> None:
    run(server, catalog="datahub")
    for verdict, path in ((ACCEPTED, "order_id"), (REJECTED, "product_id")):
        [urn] = [
            urn
            for urn in server.urns("erModelRelationship")
            if path in str(server.get(urn, ERModelRelationshipPropertiesClass))
        ]
        held = server.get(urn, GlobalTagsClass) or GlobalTagsClass(tags=[])
        held.tags.append(TagAssociationClass(tag=verdict))
        server.put(urn, held)
    run(server, catalog="datahub")
    assert joins(server).keys() == EXPECTED.keys() - {"order_lines.product_id = products.id"}


def test_an_empty_catalog_stops_the_run(run: Callable[..., str]) -> None:
    with Gms() as empty:
        output = run(empty, catalog="datahub", fails=True)
    assert "no column has values" in output


def test_an_unreadable_table_among_readable_ones_is_marked(
    gms: Gms, ingest: Ingest, lake: Path
) -> None:
    write_table(lake, "makers.csv", {"maker_id": codes("M"), "town": codes("T")})
    write_table(lake, "plants.csv", {"plant_id": codes("P"), "maker_id": codes("M")})
    describe_folder(gms, lake)
    ingest(emit=LAYERS)
    verified = joins(gms)
    assert verified["plants.csv.maker_id = makers.csv.maker_id"] in {"high", "medium"}
    (lake / "cars.csv").write_bytes(bytes(range(256)) * 40)
    describe(gms, "cars.csv", ["car_id", "maker_id"])
    output = ingest(emit=LAYERS)
    assert "Table skipped" in output
    now = joins(gms)
    assert now.pop("cars.csv.maker_id = makers.csv.maker_id") == "unverified"
    assert now == verified
    assert not any("cars" in urn for urn in gms.urns("query"))


def test_what_was_verified_is_not_replaced_by_names(gms: Gms, ingest: Ingest, lake: Path) -> None:
    write_table(lake, "makers.csv", {"maker_id": codes("M"), "town": codes("T")})
    write_table(lake, "cars.csv", {"car_id": codes("C", 80), "maker_id": codes("M") * 2})
    describe_folder(gms, lake)
    ingest()
    before = joins(gms)
    name = "cars.csv.maker_id = makers.csv.maker_id"
    assert before[name] in {"high", "medium"}
    rows = (lake / "cars.csv").read_bytes()
    (lake / "cars.csv").write_bytes(bytes(range(256)) * 40)
    ingest()
    assert joins(gms)[name] == before[name]
    (lake / "cars.csv").write_bytes(rows)
    ingest()
    assert joins(gms) == before


def test_a_header_without_rows_is_enough(gms: Gms, ingest: Ingest, lake: Path) -> None:
    write_table(lake, "makers.csv", {"maker_id": codes("M"), "town": codes("T")})
    (lake / "cars.csv").write_text("car_id,maker_id\n")
    describe_folder(gms, lake)
    ingest()
    name = "cars.csv.maker_id = makers.csv.maker_id"
    assert joins(gms)[name] == "unverified"
    write_table(lake, "cars.csv", {"car_id": codes("C", 80), "maker_id": codes("M") * 2})
    ingest()
    assert joins(gms)[name] in {"high", "medium"}
    assert tags(gms) >= {"suggested-high"} or tags(gms) >= {"suggested-medium"}
