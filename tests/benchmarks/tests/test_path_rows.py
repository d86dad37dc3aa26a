"""Test that a path counts as right only if it returns the rows of a declared reference."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.directed_lake import DirectedLake
from benchmarks.path_rows import PathRows, compare_path_rows
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName, LabelledLake
from datahub_hyperjoin.graphql.joins import CatalogJoin
from datahub_hyperjoin.joins import Cardinality, Role
from datahub_hyperjoin.tables import ColumnId, TableId

ORDERS = "id,created_by,approved_by\n1,a,b\n2,a,c\n3,b,a\n"
USERS = "name,login\na,A\nb,B\nc,C\n"


@pytest.fixture
def lake(tmp_path: Path) -> DirectedLake:
    (tmp_path / "orders.csv").write_text(ORDERS)
    (tmp_path / "users.csv").write_text(USERS)
    reference = ColumnName("orders", "created_by"), ColumnName("users", "name")
    return DirectedLake(LabelledLake(tmp_path, {}, {}), {reference: "unique"})


def join(column: str, key: str = "name") -> CatalogJoin:
    left = ColumnId(TableId("file", "orders.csv"), column)
    right = ColumnId(TableId("file", "users.csv"), key)
    return CatalogJoin(
        urn=column,
        name=column,
        pairs=((left, right),),
        cardinality=Cardinality.MANY_ONE,
        joinability=0.9,
        role=Role.REFERENCE,
        referenced=right,
    )


def test_the_declared_reference_is_equal(lake: DirectedLake, tmp_path: Path) -> None:
    assert compare_path_rows(lake, [join("created_by")], tmp_path) == PathRows(1, 0, 0, ())


def test_a_table_without_a_join_is_refused(lake: DirectedLake, tmp_path: Path) -> None:
    assert compare_path_rows(lake, [], tmp_path) == PathRows(0, 0, 1, ())


def test_another_reference_between_the_tables_has_other_rows(
    lake: DirectedLake, tmp_path: Path
) -> None:
    found = compare_path_rows(lake, [join("approved_by")], tmp_path)
    shown = "orders to users by orders.csv.approved_by = users.csv.name: 3 of 3"
    assert found == PathRows(0, 0, 0, (shown,))


def test_an_alternative_that_is_named_counts_apart(lake: DirectedLake, tmp_path: Path) -> None:
    approved, created = replace(join("approved_by"), joinability=1.0), join("created_by")
    assert compare_path_rows(lake, [approved, created], tmp_path) == PathRows(0, 1, 0, ())


def test_missing_rows_are_described(lake: DirectedLake, tmp_path: Path) -> None:
    found = compare_path_rows(lake, [join("created_by", "login")], tmp_path)
    shown = "orders to users by orders.csv.created_by = users.csv.login: 0 of 3"
    assert found == PathRows(0, 0, 0, (shown,))
