"""Test that a client reads from the catalog exactly the join that a run wrote."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import TagPropertiesClass

from datahub_hyperjoin.emit.relationships import emit_relationship
from datahub_hyperjoin.graphql import all_joins, catalog_join
from datahub_hyperjoin.joins import BANDS, Cardinality, CatalogEvidence, Evidence, Join, Role
from datahub_hyperjoin.metadata.urns import band_urn, role_urn
from datahub_hyperjoin.tables import ColumnId
from gms import Gms
from lakes.shop import column

LEFT, RIGHT = column("customers.id"), column("orders.customer")
JOIN = Join(
    left=LEFT,
    right=RIGHT,
    joinability=0.98766,
    evidence=Evidence(
        shared=16,
        left_containment=1.0,
        right_containment=0.8,
        cardinality=Cardinality.ONE_MANY,
        left_fan_out=21048.5,
        right_fan_out=1.0,
    ),
)
KEY = ((column("customers.shop"), column("orders.shop")),)
V2 = ColumnId(RIGHT.table, "[version=2.0].[type=int].customer")


@pytest.fixture
def graph() -> Iterator[DataHubGraph]:
    with Gms() as gms:
        for tag in (*map(band_urn, BANDS), *map(role_urn, Role)):
            gms.put(tag, TagPropertiesClass(name=tag))
        yield gms.graph()


@pytest.mark.parametrize(
    "join",
    [
        JOIN,
        replace(JOIN, role=Role.SIBLING),
        replace(JOIN, role=Role.REFERENCE, referenced=LEFT, further=KEY),
        replace(JOIN, role=Role.ONE_TO_ONE, referenced=RIGHT),
        replace(JOIN, role=Role.REFERENCE, referenced=V2, right=V2, joinability=0.3),
        replace(JOIN, catalog=CatalogEvidence(declared="fk")),
    ],
)
def test_a_written_join_is_read_as_the_join_of_the_run(graph: DataHubGraph, join: Join) -> None:
    for unit in emit_relationship(join, "1"):
        graph.emit(unit.metadata)
    (read,) = all_joins(graph)
    known = catalog_join(join)
    # GraphQL tells neither how many values and rows there are, nor which foreign key it is.
    evidence = replace(known.measured, shared=-1, rows=0)
    catalog = CatalogEvidence(stated=known.catalog.is_declared)
    assert read == replace(known, evidence=evidence, catalog=catalog, stated=known.cardinality)
