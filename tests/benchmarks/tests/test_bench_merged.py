"""Test that labelled lakes become folders of one lake."""

from pathlib import Path

import pytest

from benchmarks.bench_merged import METRICS, compare, merge
from datahub_hyperjoin.evaluate import EvaluationProgress
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName, LabelledLake
from datahub_hyperjoin.evaluate.run import ProfiledLake
from lakes.handmade import profile_lake


@pytest.fixture
def lakes() -> list[ProfiledLake]:
    """Two lakes whose tables have the same names: values of one column join in each."""

    def lake(name: str, kind: str) -> ProfiledLake:
        values = [f"{kind}{number}" for number in range(40)]
        tables = {"orders": values, "customers": [*values, f"{kind}40"], "colours": [kind, "red"]}
        query, gold = ColumnName("orders", "x"), ColumnName("customers", "x")
        labelled = LabelledLake(
            Path(name), dict.fromkeys(tables, frozenset("x")), {query: frozenset({gold})}
        )
        profiles = profile_lake({table: {"x": cells} for table, cells in tables.items()})
        return ProfiledLake(labelled, tuple(profiles), 1.0)

    return [lake("shop", "a"), lake("bank", "b")]


def test_tables_of_the_same_name_stay_apart(lakes: list[ProfiledLake]) -> None:
    merged = merge(lakes)
    assert [profile.table.id.name for profile in merged.profiles] == [
        f"{lake}/{lake} {table}"
        for lake in ("shop", "bank")
        for table in ("orders", "customers", "colours")
    ]
    assert all(
        column.id.table == profile.table.id
        for profile in merged.profiles
        for column in profile.columns
    )
    assert [profile.table.title for profile in merged.profiles] == [
        profile.table.title for lake in lakes for profile in lake.profiles
    ]
    assert merged.labelled.truth == {
        ColumnName(f"{lake} orders", "x"): frozenset({ColumnName(f"{lake} customers", "x")})
        for lake in ("shop", "bank")
    }
    assert merged.seconds == 2


def test_strangers_change_nothing(lakes: list[ProfiledLake]) -> None:
    rows = [*compare(lakes, EvaluationProgress(lambda _: None))]
    assert [row[:2] for row in rows] == [
        [lake, metric] for lake in ("shop", "bank") for metric in METRICS
    ]
    assert all(row[2] == row[3] for row in rows)
    assert {row[4] for row in rows} == {"+0.0 (0.0 to 0.0)"}
    assert rows[-1][2] == "100.0"
