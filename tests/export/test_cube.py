"""Test that the joins of exported cubes lead only to exported cubes with a primary key."""

import yaml

from datahub_hyperjoin.export import DeclaredColumns, ExportFormat, export_joins
from datahub_hyperjoin.joins import Join


def test_each_join_leads_to_a_cube_with_a_primary_key(
    joins: list[Join], declared: DeclaredColumns
) -> None:
    text = export_joins(joins, ExportFormat.CUBE, declared=declared).text
    cubes = {cube["name"]: cube for cube in yaml.safe_load(text)["cubes"]}
    found = [(cube["name"], join) for cube in cubes.values() for join in cube.get("joins", [])]
    assert len(found) == len(joins)
    for _, join in found:
        dimensions = cubes[join["name"]]["dimensions"]
        assert any(dimension.get("primary_key") for dimension in dimensions)
        assert f"{{{join['name']}}}." in join["sql"]
    assert cubes["customers_payer"]["sql_table"] == cubes["customers"]["sql_table"]
    # A cube that stands for a table once more would join itself without end.
    assert "joins" not in cubes["employees_manager"]
    (lines,) = (join for name, join in found if name == "lines")
    assert lines["sql"] == '{CUBE}."order" = {orders}."number" AND {CUBE}."shop" = {orders}."shop"'
