"""Test that exported foreign keys are valid SQL, with `RELY` only if all values have a match."""

from collections.abc import Callable

import pytest
from sqlglot import ErrorLevel, exp, parse

from datahub_hyperjoin.export import DeclaredColumns, ExportFormat, export_joins
from datahub_hyperjoin.joins import Join
from datahub_hyperjoin.tables import ColumnId, DataType, TableId
from lakes.chains import changed

SNOWFLAKE, DATABRICKS = ExportFormat.SNOWFLAKE_CONSTRAINTS, ExportFormat.DATABRICKS_CONSTRAINTS

Write = Callable[[Join, DataType], str]


@pytest.mark.parametrize(
    ("kind", "dialect"), [(SNOWFLAKE, "snowflake"), (DATABRICKS, "databricks")]
)
def test_each_statement_is_one_of_the_dialect(
    joins: list[Join], declared: DeclaredColumns, kind: ExportFormat, dialect: str
) -> None:
    exported = export_joins(joins, kind, declared=declared)
    statements = parse(exported.text, dialect=dialect, error_level=ErrorLevel.RAISE)
    alters = [statement for statement in statements if isinstance(statement, exp.Alter)]
    assert len(alters) == len(statements)
    found = [each for alter in alters for each in alter.find_all(exp.ForeignKey)]
    assert len(found) == exported.joins


def foreign_key(text: str) -> str:
    (line,) = (line for line in text.splitlines() if "FOREIGN KEY" in line)
    return line


def typed(join: Join, kind: DataType) -> DeclaredColumns:
    return DeclaredColumns(types={column: kind for pair in join.pairs for column in pair})


@pytest.mark.parametrize("export_format", [SNOWFLAKE, DATABRICKS])
@pytest.mark.parametrize(
    ("containment", "kind", "option"),
    [
        (1.0, DataType.INTEGER, "RELY"),
        (0.9999, DataType.INTEGER, "NORELY"),
        (None, DataType.INTEGER, "NORELY"),
        # Texts were compared without regard to case, and distant dates were left out.
        (1.0, DataType.TEXT, "NORELY"),
        (1.0, DataType.DATE, "NORELY"),
        (1.0, None, "NORELY"),
    ],
)
def test_only_complete_integers_are_relied_on(
    reference: Join,
    export_format: ExportFormat,
    containment: float | None,
    kind: DataType | None,
    option: str,
) -> None:
    join = changed(reference, left_containment=containment)
    declared = typed(join, kind) if kind else DeclaredColumns()
    lines = export_joins([join], export_format, declared=declared).text.splitlines()
    statements = [line for line in lines if line.startswith("ALTER")]
    assert [line.rsplit(" ", 1)[1] for line in statements] == [f"{option};"] * 2


def test_a_declared_primary_key_is_not_added_again(reference: Join) -> None:
    tables = [TableId("snowflake", f"shop.public.{name}") for name in ("orders", "customers")]
    left, right = (
        ColumnId(table, column) for table, column in zip(tables, ("customer", "id"), strict=True)
    )
    join = changed(reference, pairs=((left, right),), referenced=right)
    declared = DeclaredColumns(primary_keys={right.table: ("id",)})
    assert 'ADD CONSTRAINT "CUSTOMERS_ID_KEY" UNIQUE' in export_joins([join], SNOWFLAKE).text
    text = export_joins([join], SNOWFLAKE, declared=declared).text
    assert "UNIQUE" not in text
    assert foreign_key(text).endswith(
        'REFERENCES "SHOP"."PUBLIC"."CUSTOMERS" ("ID") NOT ENFORCED NORELY;'
    )
