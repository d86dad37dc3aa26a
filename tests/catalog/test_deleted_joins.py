"""Test that the catalog remembers which suggestions people deleted."""

from collections.abc import Callable, Mapping

from datahub.ingestion.graph.client import DataHubGraph
from datahub.metadata.schema_classes import (
    StatusClass,
    StructuredPropertiesClass,
    StructuredPropertyDefinitionClass,
    StructuredPropertyValueAssignmentClass,
)

from datahub_hyperjoin.catalog.decisions import infer_deleted, read_deleted_joins
from datahub_hyperjoin.catalog.relationships import read_relationships
from datahub_hyperjoin.metadata.relationships import columns_urn, to_aspect
from datahub_hyperjoin.metadata.urns import (
    DELETED_JOINS,
    JOIN_SUGGESTIONS,
    JOINABLE_WITH,
    column_urn,
    property_urn,
)
from datahub_hyperjoin.tables import ColumnId, Pair
from gms import Gms
from lakes.lake import column
from lakes.quick_runs import join_of

NAMESPACE = "io.datahub.hyperjoin"
A, B, C, D = (column(f"{name}.csv.code") for name in "abcd")
Warn = Callable[[str, str, str], None]
Warnings = list[tuple[str, str, str]]


def define(gms: Gms, *names: str) -> None:
    for name in names:
        definition = StructuredPropertyDefinitionClass(
            qualifiedName=f"{NAMESPACE}.{name}",
            valueType="urn:li:dataType:datahub.urn",
            entityTypes=["urn:li:entityType:datahub.schemaField"],
            cardinality="MULTIPLE",
        )
        gms.put(property_urn(NAMESPACE, name), definition)


def assign(gms: Gms, column: ColumnId, values: Mapping[str, list[str]]) -> None:
    assigned = [
        StructuredPropertyValueAssignmentClass(property_urn(NAMESPACE, name), list(value))
        for name, value in values.items()
    ]
    gms.put(column_urn(column), StructuredPropertiesClass(assigned))


def publish(gms: Gms, *listed: Pair, related: tuple[Pair, ...] = ()) -> None:
    """Write suggestions as a run does.

    Both columns of a pair list each other, and some pairs are relationships.
    """
    define(gms, JOINABLE_WITH, JOIN_SUGGESTIONS)
    for one in {end for pair in listed for end in pair}:
        others = [next(end for end in pair if end != one) for pair in listed if one in pair]
        texts = [f"{other} (0.90, same domain)" for other in others]
        urns = [*map(column_urn, others)]
        assign(gms, one, {JOINABLE_WITH: urns, JOIN_SUGGESTIONS: texts})
    for pair in related:
        gms.put(columns_urn([pair]), to_aspect(join_of(pair), "1"))


def infer(graph: DataHubGraph, warn: Warn) -> set[Pair]:
    found = read_relationships(graph, written=(), hiders=(), warn=warn)
    return {*infer_deleted(graph, NAMESPACE, found, warn).values()}


def test_a_listed_join_without_relationship_was_deleted(
    gms: Gms, graph: DataHubGraph, warn: Warn
) -> None:
    publish(gms, (A, B), (B, C), (C, D), related=((A, B), (C, D)))
    assert infer(graph, warn) == {(B, C)}


def test_of_three_columns_one_join_may_be_deleted(
    gms: Gms, graph: DataHubGraph, warn: Warn
) -> None:
    publish(gms, (A, B), (B, C), (A, C), related=((A, B), (A, C)))
    assert infer(graph, warn) == {(B, C)}


def test_a_join_that_a_value_domain_implies_was_never_a_relationship(
    gms: Gms, graph: DataHubGraph, warn: Warn
) -> None:
    star = ((A, B), (A, C), (A, D))
    publish(gms, *star, (B, C), (B, D), (C, D), related=star)
    assert infer(graph, warn) == set()


def test_a_join_in_two_steps_was_never_a_relationship(
    gms: Gms, graph: DataHubGraph, warn: Warn
) -> None:
    publish(gms, (A, B), (B, C), related=((A, B),))
    # The last text counts joins that the list leaves out.
    more = "and 11 more tables by the same key"
    texts = {JOIN_SUGGESTIONS: ["b.csv.code (0.90, through d.csv, in two steps)", more]}
    assign(gms, C, {JOINABLE_WITH: [column_urn(B)], **texts})
    texts = {JOIN_SUGGESTIONS: ["a (same key)", "c (0.90, through d.csv, in two steps)", more]}
    assign(gms, B, {JOINABLE_WITH: [column_urn(A), column_urn(C)], **texts})
    assert infer(graph, warn) == set()


def test_where_no_relationship_was_written_none_was_deleted(
    gms: Gms, graph: DataHubGraph, warn: Warn
) -> None:
    publish(gms, (A, B), (B, C))
    assert infer(graph, warn) == set()


def test_columns_list_deleted_joins(
    gms: Gms, graph: DataHubGraph, warn: Warn, warnings: Warnings
) -> None:
    define(gms, DELETED_JOINS)
    assign(gms, A, {DELETED_JOINS: [column_urn(B), column_urn(A)]})
    assign(gms, C, {DELETED_JOINS: ["nonsense"]})
    assert read_deleted_joins(graph, NAMESPACE, warn) == [(A, B)]
    assert [title for title, _, _ in warnings] == ["Entities skipped"]
    assert warnings[0][2].startswith(f"{column_urn(C)}: one of its joins does not name a column")


def test_without_the_property_nothing_is_listed(gms: Gms, graph: DataHubGraph, warn: Warn) -> None:
    assert read_deleted_joins(graph, NAMESPACE, warn) == []
    define(gms, DELETED_JOINS)
    assign(gms, A, {DELETED_JOINS: [column_urn(B)]})
    gms.put(property_urn(NAMESPACE, DELETED_JOINS), StatusClass(removed=True))
    assert read_deleted_joins(graph, NAMESPACE, warn) == []
