"""Test that exported dbt tests have severity `warn` if some values lack a match, else `error`."""

from typing import Any

import yaml

from datahub_hyperjoin.export import ExportFormat, export_joins
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.tables import ColumnId
from lakes.chains import changed


def columns_of(joins: list[Join]) -> dict[str, dict[str, dict[str, Any]]]:
    models = yaml.safe_load(export_joins(joins, ExportFormat.DBT_TESTS).text)["models"]
    return {
        model["name"]: {column["name"]: column for column in model["columns"]} for model in models
    }


def test_each_join_is_a_test(joins: list[Join]) -> None:
    columns = columns_of(joins)
    assert columns["customers"]["id"]["data_tests"] == ["unique"]
    tests = {
        test["relationships"]["name"]: test["relationships"]
        for of_model in columns.values()
        for column in of_model.values()
        for test in column["data_tests"]
        if test != "unique"
    }
    assert len(tests) == len(joins) - 1
    payer, customer = (tests[f"orders_{name}_to_customers"] for name in ("payer", "customer"))
    assert payer["arguments"] == {"to": "ref('customers')", "field": "id"}
    assert (payer["config"]["severity"], customer["config"]["severity"]) == ("warn", "error")


def test_reserved_words_are_quoted(reference: Join) -> None:
    order = ColumnId(reference.right.table, "order")
    join = changed(reference, pairs=((reference.left, order),), referenced=order)
    columns = columns_of([join])
    assert columns["customers"]["order"]["quote"] is True
    (test,) = columns["orders"]["customer"]["data_tests"]
    assert test["relationships"]["arguments"]["field"] == '"order"'
