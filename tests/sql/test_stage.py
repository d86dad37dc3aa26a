"""Test that the SQL of joins is kept, and runs again only for changed joins."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from datahub_hyperjoin.joins import Join, JoinedColumns, RunSql, Statement
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.profiles.store import Store
from datahub_hyperjoin.sql import LakeInSql, SqlTest, find_join_sql
from datahub_hyperjoin.sql.duckdb_engine import DuckDbEngine
from datahub_hyperjoin.tables import Table, TableProfile

MakeFile = Callable[..., Table]
MakeJoin = Callable[..., Join]


class Counted:
    """A progress report that only counts."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def count(self, name: str, by: float) -> None:
        self.counts[name] += int(by)

    def say(self, line: str) -> None:
        """Ignore a line."""


def no_session() -> NoReturn:
    pytest.fail("no Spark is needed")


@pytest.fixture
def tables(make_file: MakeFile) -> list[Table]:
    contents = {"a.csv": "x,y\nb,Q1 \nc,q2\n", "b.csv": "x,y\nb,q1\nc,Q2\n"}
    return [replace(make_file(*each), state=each[0]) for each in contents.items()]


@pytest.fixture
def joins(tables: list[Table], make_join: MakeJoin) -> list[Join]:
    first, second = tables
    return [
        make_join(((first, "x"), (second, "x")), rows=2),
        make_join(((first, "y"), (second, "y")), rows=2),
        make_join(((first, "x"), (second, "y")), rows=9),
    ]


def stated(
    joins: list[Join],
    tables: list[Table],
    folder: Path | None,
    timeout: float = 60,
    run: RunSql = RunSql.ALL,
) -> tuple[dict[JoinedColumns, Statement], Counter[str]]:
    progress = Counted()
    found = find_join_sql(
        joins,
        LakeInSql(tables={table.id: table for table in tables}),
        store=Store(ProfileConfig(store=folder)),
        session=no_session,
        test=SqlTest(timeout=timeout, run=run),
        progress=progress,  # type: ignore[arg-type]
    )
    return found, progress.counts


def test_joins_with_sql_are_counted(joins: list[Join], tables: list[Table]) -> None:
    found, counts = stated(joins, tables, None)
    assert [bool(found[join.pairs].sql) for join in joins] == [True, True, False]
    assert counts == {
        "joins_with_sql": 2,
        "joins_with_normalised_sql": 1,
        "joins_with_sql_not_run": 0,
        "sql_from_profile_store": 0,
    }


def test_a_second_run_executes_nothing(
    joins: list[Join], tables: list[Table], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = stated(joins, tables, tmp_path / "store")

    def refuse(*_: object) -> NoReturn:
        pytest.fail("a query was run")

    monkeypatch.setattr(DuckDbEngine, "fetch", refuse)
    monkeypatch.setattr(DuckDbEngine, "execute", refuse)
    second, counts = stated(joins, tables, tmp_path / "store")
    assert second == first
    assert counts["sql_from_profile_store"] == 3


def test_only_joins_of_changed_tables_or_evidence_run_again(
    joins: list[Join], tables: list[Table], tmp_path: Path
) -> None:
    stated(joins, tables, tmp_path / "store")
    more = replace(joins[0], evidence=replace(joins[0].measured, rows=3))
    found, counts = stated([more, *joins[1:]], tables, tmp_path / "store")
    assert counts["sql_from_profile_store"] == 2
    assert found[more.pairs].reason.endswith("returns 2")
    changed = [tables[0], replace(tables[1], state="another")]
    assert stated(joins, changed, tmp_path / "store")[1]["sql_from_profile_store"] == 0


def test_what_was_not_run_is_not_kept(
    joins: list[Join], tables: list[Table], tmp_path: Path
) -> None:
    written, counts = stated(joins, tables, tmp_path / "store", run=RunSql.NONE)
    assert not any(each.was_run or each.rows for each in written.values())
    assert counts["joins_with_sql_not_run"] == counts["joins_with_sql"] == 3
    ran, counts = stated(joins, tables, tmp_path / "store")
    assert counts["sql_from_profile_store"] == 0
    # What was run is better known.
    assert stated(joins, tables, tmp_path / "store", run=RunSql.NONE)[0] == ran


def test_the_state_of_a_profile_decides(tables: list[Table]) -> None:
    lake = LakeInSql.of([TableProfile(table=table) for table in tables])
    assert [lake.tables[table.id].state for table in tables] == ["a.csv", "b.csv"]


def test_another_time_limit_is_another_try(
    joins: list[Join], tables: list[Table], tmp_path: Path
) -> None:
    stated(joins, tables, tmp_path / "store")
    assert stated(joins, tables, tmp_path / "store", 61)[1]["sql_from_profile_store"] == 0


def test_tables_of_unknown_state_are_not_kept(
    joins: list[Join], tables: list[Table], tmp_path: Path
) -> None:
    unknown = [replace(table, state="") for table in tables]
    stated(joins, unknown, tmp_path / "store")
    assert stated(joins, unknown, tmp_path / "store")[1]["sql_from_profile_store"] == 0
