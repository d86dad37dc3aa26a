"""Test that a path counts as right only if it returns the rows of a declared reference."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.directed_lake import DirectedLake
from benchmarks.path_rows import PathRows, compare_path_rows
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName, LabelledLake
from datahub_hyperjoin.joins import Cardinality, Join, Role
from datahub_hyperjoin.tables import ColumnId, TableId
from lakes.chains import changed, made

ORDERS = "id,created_by,approved_by\n1,a,b\n2,a,c\n3,b,a\n"
USERS = "name,login\na,A\nb,B\nc,C\n"


@pytest.fixture
def lake(tmp_path: Path) -> DirectedLake:
    (tmp_path / "orders.csv").write_text(ORDERS)
    (tmp_path / "users.csv").write_text(USERS)
    reference = ColumnName("orders", "created_by"), ColumnName("users", "name")
    return DirectedLake(LabelledLake(tmp_path, {}, {}), {reference: "unique"})


def join(column: str, key: str = "name") -> Join:
    left = ColumnId(TableId("file", "orders.csv"), column)
    right = ColumnId(TableId("file", "users.csv"), key)
    return made(
        urn=column,
        name=column,
        pairs=((left, right),),
        cardinality=Cardinality.MANY_ONE,
        joinability=0.9,
        role=Role.REFERENCE,
        referenced=right,
    )


def outcome(lake: DirectedLake, *joins: Join, **counts: int) -> tuple[PathRows, PathRows]:
    """Return the actual counts and the expected counts, which are 0 unless given."""
    every = (
        dict.fromkeys(("equal", "named", "refused", "refused_named", "alone", "alone_equal"), 0)
        | counts
    )
    found = compare_path_rows(lake, joins, lake.labelled.folder)
    return found, PathRows(**every, different=found.different)


def test_the_declared_reference_is_equal(lake: DirectedLake) -> None:
    found, expected = outcome(lake, join("created_by"), equal=1, alone=1, alone_equal=1)
    assert found == expected
    assert not found.different


def test_a_table_without_a_join_is_refused(lake: DirectedLake) -> None:
    found, expected = outcome(lake, refused=1)
    assert found == expected


def without_key(join: Join) -> Join:
    return changed(join, role=Role.SAME_DOMAIN, referenced=None)


def test_an_error_that_names_the_declared_join_counts(lake: DirectedLake) -> None:
    found, expected = outcome(lake, without_key(join("created_by")), refused=1, refused_named=1)
    assert found == expected
    found, expected = outcome(lake, without_key(join("approved_by")), refused=1)
    assert found == expected


def test_a_detour_that_names_the_declared_join_counts(lake: DirectedLake) -> None:
    other = ColumnId(TableId("file", "orders.csv"), "approved_by")
    people, key = (ColumnId(TableId("file", "people.csv"), name) for name in ("id", "name"))
    (lake.labelled.folder / "people.csv").write_text("id,name\nb,a\nc,b\na,c\n")
    detour = (
        changed(join("approved_by"), pairs=((other, people),), referenced=people),
        changed(join("x"), pairs=((key, join("x").right),)),
    )
    found, expected = outcome(lake, *detour, without_key(join("created_by")), named=1, alone=1)
    assert found == expected


def test_another_reference_between_the_tables_has_other_rows(lake: DirectedLake) -> None:
    found, expected = outcome(lake, join("approved_by"), alone=1)
    assert found == expected
    assert found.different == (
        "orders to users by orders.csv.approved_by = users.csv.name: 3 of 3",
    )


def test_a_reference_that_the_ground_truth_implies_is_equal(lake: DirectedLake) -> None:
    ends = ColumnName("orders", "created_by"), ColumnName("orders", "approved_by")
    truth = {ends[0]: frozenset({ends[1], ColumnName("users", "name")})}
    implied = replace(lake, labelled=replace(lake.labelled, truth=truth))
    found, expected = outcome(implied, join("approved_by"), equal=1, alone=1, alone_equal=1)
    assert found == expected


def test_a_declared_reference_in_the_opposite_direction_is_equal(lake: DirectedLake) -> None:
    back = ColumnName("users", "name"), ColumnName("orders", "approved_by")
    both = replace(lake, directions={**lake.directions, back: "unique"})
    found, expected = outcome(both, join("approved_by"), equal=1, alone=1, alone_equal=1)
    assert found == expected


def test_an_alternative_that_is_named_counts_apart(lake: DirectedLake) -> None:
    approved, created = replace(join("approved_by"), joinability=1.0), join("created_by")
    found, expected = outcome(lake, approved, created, named=1)
    assert found == expected


def test_missing_rows_are_described(lake: DirectedLake) -> None:
    found, expected = outcome(lake, join("created_by", "login"), alone=1)
    assert found == expected
    assert found.different == (
        "orders to users by orders.csv.created_by = users.csv.login: 0 of 3",
    )


def test_all_columns_of_a_key_are_compared(lake: DirectedLake) -> None:
    one = join("created_by")
    table = one.right.table
    whole = (one.pairs[0], (ColumnId(one.left.table, "approved_by"), ColumnId(table, "login")))
    found, expected = outcome(lake, changed(one, pairs=whole), alone=1)
    assert found == expected
    assert found.different[0].endswith(": 0 of 3")
