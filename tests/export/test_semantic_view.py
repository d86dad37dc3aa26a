"""Test that exported semantic views follow Snowflake's rules on keys and cycles."""

import re

import networkx as nx

from datahub_hyperjoin.export import DeclaredColumns, ExportFormat, export_joins
from datahub_hyperjoin.joins import Join

NAME = r'"(\w+)"'
COLUMNS = r"\(([^)]+)\)"


def test_relationships_lead_to_keys_and_form_no_circle(
    joins: list[Join], declared: DeclaredColumns
) -> None:
    text = export_joins(joins, ExportFormat.SNOWFLAKE_SEMANTIC_VIEW, declared=declared).text
    body = re.sub(r"/\*.*?\*/", "", text)
    tables, relationships, dimensions = re.split(r"TABLES|RELATIONSHIPS|DIMENSIONS", body)[1:]
    listed = re.findall(rf"^    {NAME} AS (.+)$", tables, re.MULTILINE)
    keys = {name: re.findall(rf"(?:PRIMARY KEY|UNIQUE) {COLUMNS}", rest) for name, rest in listed}
    assert len(keys) == len(listed)  # no name twice
    edges = re.findall(rf" AS {NAME} {COLUMNS} REFERENCES {NAME} {COLUMNS}", relationships)
    assert len(edges) == len(joins)
    assert [edge for edge in edges if edge[3] not in keys[edge[2]]] == []
    graph = nx.MultiDiGraph([(start, end) for start, _, end, _ in edges])
    assert nx.is_directed_acyclic_graph(graph)
    assert set(graph) <= set(keys)
    # Between two logical tables there is one relationship, so no query is ambiguous.
    assert graph.number_of_edges() == len(set(graph.edges()))
    assert '    "LINES"."ORDER" AS "ORDER",' in dimensions.splitlines()


def test_a_circle_is_closed_with_a_table_of_another_name(joins: list[Join]) -> None:
    circle = [join for join in joins if join.left.path in {"payer", "last_order"}]
    text = export_joins(circle, ExportFormat.SNOWFLAKE_SEMANTIC_VIEW).text
    assert '"ORDERS" ("PAYER") REFERENCES "CUSTOMERS_PAYER" ("ID")' in text
    assert '"CUSTOMERS" ("LAST_ORDER") REFERENCES "ORDERS" ("ID")' in text
