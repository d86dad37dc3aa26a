"""Test that references are compared with the truth, including their direction."""

import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.directed_lake import DirectedLake, read_directed_lake
from benchmarks.reference_metrics import (
    ReferenceCounts,
    count_emitted,
    count_references,
    count_shadowed,
    first_right,
    references_of,
)
from benchmarks.rivals.sempy import find_relationships
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName
from datahub_hyperjoin.joins import Cardinality, Evidence, Join, Role, Suggestion
from datahub_hyperjoin.tables import ColumnId, TableId

ORDERS, CUSTOMERS = ColumnName("orders", "customer"), ColumnName("customers", "id")
STAFF, SHOPS = ColumnName("staff", "shop"), ColumnName("shops", "id")


@pytest.fixture
def lake(tmp_path: Path) -> DirectedLake:
    tables = tmp_path / "tables"
    tables.mkdir()
    for table, column in (ORDERS, CUSTOMERS, STAFF, SHOPS):
        (tables / f"{table}.csv").write_text(f"{column}\n1\n2\n")
    (tmp_path / "queries.csv").write_text("table,column\norders,customer\ncustomers,id\n")
    (tmp_path / "ground_truth.csv").write_text(
        "query_table,query_column,candidate_table,candidate_column,kind\n"
        "orders,customer,customers,id,fk\ncustomers,id,orders,customer,fk\n"
    )
    (tmp_path / "references.csv").write_text(
        "from_table,from_column,to_table,to_column,direction\norders,customer,customers,id,unique\n"
    )
    return read_directed_lake(tmp_path)


def column(name: ColumnName) -> ColumnId:
    return ColumnId(TableId("file", f"{name.table}.csv"), name.column)


def join(role: Role, joinability: float = 0.9) -> Join:
    left, right = column(CUSTOMERS), column(ORDERS)
    return Join(
        left=left,
        right=right,
        joinability=joinability,
        role=role,
        referenced=left if role.is_directed else None,
        evidence=Evidence(
            shared=2,
            left_containment=1.0,
            right_containment=1.0,
            cardinality=Cardinality.ONE_MANY,
            left_fan_out=1.0,
            right_fan_out=1.0,
        ),
    )


def test_a_reference_in_the_wrong_direction_is_wrong(lake: DirectedLake) -> None:
    right = count_references(lake, [(ORDERS, CUSTOMERS)])
    wrong = count_references(lake, [(CUSTOMERS, ORDERS)])
    assert {right.precision.mean, right.recall.mean, right.f1.mean} == {1.0}
    assert {wrong.precision.mean, wrong.recall.mean, wrong.f1.mean} == {0.0}


def test_the_bounds_of_a_share_come_from_the_tables() -> None:
    right, predicted = np.array([1.0, 0, 0]), np.array([1.0, 1, 0])
    precision = ReferenceCounts(right, predicted, right).precision
    assert (precision.mean, precision.low, precision.high) == (0.5, 0.0, 1.0)


def test_a_declared_reference_counts_as_emitted_in_any_role(lake: DirectedLake) -> None:
    assert count_emitted(lake, [join(Role.SIBLING)]) == 1
    assert count_emitted(lake, []) == 0


def test_references_without_a_query_column_are_not_judged(lake: DirectedLake) -> None:
    assert count_references(lake, [(STAFF, SHOPS)]).predicted.sum() == 0


def test_a_direction_that_the_rows_do_not_tell_counts_both_ways(
    lake: DirectedLake, tmp_path: Path
) -> None:
    references = tmp_path / "references.csv"
    references.write_text(references.read_text().replace("unique", "either"))
    assert not lake.is_reference((CUSTOMERS, ORDERS))
    either = read_directed_lake(tmp_path)
    assert either.is_reference((CUSTOMERS, ORDERS))
    assert count_references(either, [(CUSTOMERS, ORDERS)]).recall.mean == 1.0


def test_references_are_read_from_joins_with_their_direction() -> None:
    joins = [join(Role.REFERENCE), join(Role.SAME_DOMAIN)]
    assert list(references_of(joins)) == [(ORDERS, CUSTOMERS)]


def test_a_pair_of_tables_is_led_by_its_reference_whatever_the_scores(lake: DirectedLake) -> None:
    sibling, reference = join(Role.SIBLING, 1.0), join(Role.REFERENCE, 0.6)
    assert count_shadowed(lake, [sibling]) == (1, 1)
    assert count_shadowed(lake, [sibling, reference]) == (0, 1)


def test_only_the_first_suggestion_of_a_foreign_key_counts(lake: DirectedLake) -> None:
    def suggest(candidate: ColumnName, rank: int) -> Suggestion:
        return Suggestion(
            query=column(ORDERS), candidate=column(candidate), rank=rank, joinability=0.9
        )

    assert first_right(lake, [suggest(CUSTOMERS, 1)]) == 1.0
    assert first_right(lake, [suggest(SHOPS, 1), suggest(CUSTOMERS, 2)]) == 0.0


def test_sempy_runs_in_an_interpreter_of_its_own(
    tmp_path: Path, lake: DirectedLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "packages" / "sempy"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "relationships.py").write_text(
        "import pandas as pd\n"
        "def find_relationships(tables):\n"
        "    assert sorted(tables) == ['customers', 'orders', 'shops', 'staff']\n"
        "    names = ['From Table', 'From Column', 'To Table', 'To Column']\n"
        "    return pd.DataFrame([('customers', 'id', 'orders', 'customer')], columns=names)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    found = find_relationships(tmp_path / "tables", Path(sys.executable))
    assert count_references(lake, found).f1.mean == 1.0
