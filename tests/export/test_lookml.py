"""Test that a LookML parser reads all exported explores, views and joins."""

import re

import lkml

from datahub_hyperjoin.export import DeclaredColumns, ExportFormat, export_joins
from datahub_hyperjoin.joins import Join


def test_a_parser_reads_all_joins(joins: list[Join], declared: DeclaredColumns) -> None:
    model = lkml.load(export_joins(joins, ExportFormat.LOOKML, declared=declared).text)
    dimensions = {
        view["name"]: {dimension["name"] for dimension in view["dimensions"]}
        for view in model["views"]
    }
    found = [(explore["name"], join) for explore in model["explores"] for join in explore["joins"]]
    assert len(found) == len(joins)
    for name, join in found:
        views = {name: name, join["name"]: join.get("from", join["name"])}
        for alias, dimension in re.findall(r"\$\{(\w+)\.(\w+)\}", join["sql_on"]):
            assert dimension in dimensions[views[alias]]
    kinds = {join["name"]: join["relationship"] for _, join in found}
    assert (kinds["customers"], kinds["customers_payer"]) == ("one_to_one", "many_to_one")
    assert {name for name, _ in found if len([n for n, _ in found if n == name]) > 1} == {"orders"}
