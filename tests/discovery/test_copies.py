"""Test how data frames, DuckDB tables and views become files."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.discovery import sources as sources_module
from datahub_hyperjoin.discovery.errors import UnusableSourceError
from datahub_hyperjoin.discovery.progress import RunProgress
from datahub_hyperjoin.discovery.sources import copy_duckdb, copy_frames, copy_views, list_sources
from datahub_hyperjoin.locations import File, Relation, ViewCopy
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.databases.relations import read_copy
from datahub_hyperjoin.spark.profiles import local_batch
from datahub_hyperjoin.spark.profiles.local_batch import profile_here, profile_table
from datahub_hyperjoin.tables import Table
from engines.servers import KINDS, serving


def content(table: Table) -> dict[str, list[object]]:
    assert isinstance(table.location, File)
    return pq.read_table(table.location.uri).to_pydict()


def refuse(title: str, message: str, context: str) -> None:
    raise AssertionError(title, message, context)


def keep_all(_: str) -> bool:
    return True


def test_frames_of_every_library_are_copied(
    frames: dict[str, pd.DataFrame], tmp_path: Path
) -> None:
    regions = frames["regions"]
    every = {
        "pandas": regions,
        "arrow": pa.Table.from_pandas(regions),
        "polars": pl.from_pandas(regions),
        "lazy": pl.from_pandas(regions).lazy(),
        "duckdb": duckdb.from_df(regions),
    }
    tables = copy_frames(every, tmp_path, prefix="", warn=refuse, keeps=keep_all)
    assert [str(table.id) for table in tables] == [*every]
    assert [content(table) for table in tables] == [regions.to_dict("list")] * 5
    assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o600] * 5


def test_frames_of_spark_are_copied(
    spark: SparkSession, frames: dict[str, pd.DataFrame], tmp_path: Path
) -> None:
    frame = spark.createDataFrame(frames["regions"])
    [table] = copy_frames({"regions": frame}, tmp_path, prefix="shop", warn=refuse, keeps=keep_all)
    assert (str(table.id), table.title) == ("shop.regions", "regions")
    assert content(table) == frames["regions"].to_dict("list")


def test_odd_frames_of_pandas_are_copied(tmp_path: Path) -> None:
    mixed = pd.DataFrame([[1, "a"], ["x", "b"], [None, "c"]], columns=["v", "v"])
    named = pd.DataFrame({1: [3]}, index=pd.Index(["k"], name="key"))
    unnamed = pd.DataFrame({"a": [3]}, index=["k"])
    halved = pd.DataFrame({"a": ["\ud800x"]})
    # People also name frames by numbers.
    frames: dict[Any, object] = {"mixed": mixed, "named": named, "unnamed": unnamed, 2024: halved}
    tables = copy_frames(
        frames,
        tmp_path,
        prefix="",
        warn=refuse,
        keeps=keep_all,
    )
    assert [content(table) for table in tables] == [
        {"v": ["1", "x", None], "v_2": ["a", "b", "c"]},
        {"key": ["k"], "1": [3]},
        {"row_name": ["k"], "a": [3]},
        {"a": ["?x"]},
    ]
    assert tables[-1].title == "2024"


def test_columns_that_arrow_has_no_type_for_are_copied_as_text(tmp_path: Path) -> None:
    large = 2**70
    every = {
        "large": pd.DataFrame({"id": [large, None, 3]}),
        "sparse": pd.DataFrame({"id": pd.Series([0, 0, 5], dtype=pd.SparseDtype(int))}),
        "nested": pd.DataFrame({"id": [{"a": 1}, {"a": 2}], "tags": [["x"], {"y": 1}]}),
        "ranges": pd.DataFrame({"id": pd.cut([1, 3], [0, 2, 4])}),
        "months": pd.DataFrame({"id": pd.period_range("2024-01", periods=2, freq="M")}),
        "polars": pl.DataFrame({"id": [large, None]}, schema={"id": pl.Int128}),
    }
    tables = copy_frames(every, tmp_path, prefix="", warn=refuse, keeps=keep_all)
    assert [content(table) for table in tables] == [
        {"id": [str(large), None, "3"]},
        {"id": [0, 0, 5]},
        {"id": [{"a": 1}, {"a": 2}], "tags": ["['x']", "{'y': 1}"]},
        {"id": ["(0, 2]", "(2, 4]"]},
        {"id": ["2024-01", "2024-02"]},
        {"id": [str(large), None]},
    ]


def test_a_value_that_is_no_frame_is_named(tmp_path: Path) -> None:
    message = r"'orders' is a (list|Series), which is no data frame. Pass frames of pandas, Polars"
    for other in ([1], pd.Series([1]), pl.Series([1])):
        with pytest.raises(UnusableSourceError, match=message):
            copy_frames({"orders": other}, tmp_path, prefix="", warn=refuse, keeps=keep_all)


def test_tables_and_views_of_duckdb_are_copied(tmp_path: Path) -> None:
    file, copies = tmp_path / "shop.duckdb", tmp_path / "copies"
    copies.mkdir()
    with duckdb.connect(str(file)) as connection:
        connection.execute(
            """
            CREATE TABLE orders AS SELECT 1::HUGEINT AS id, INTERVAL 1 DAY AS wait;
            CREATE SCHEMA "my.sales";
            CREATE VIEW "my.sales"."a""b" AS SELECT id FROM orders;
            CREATE TABLE gone AS SELECT 1 AS a;
            CREATE VIEW broken AS SELECT a FROM gone;
            DROP TABLE gone;
            """
        )
    progress = RunProgress()
    tables = copy_duckdb(file, copies, prefix="", progress=progress, keeps=keep_all)
    assert {str(table.id): content(table) for table in tables} == {
        "orders": {"id": [1]},
        'my.sales.a"b': {"id": [1]},
    }
    assert [table.location.copy_of for table in tables if isinstance(table.location, File)] == [
        ("orders",),
        ("my.sales", 'a"b'),
    ]
    assert sorted((each.title, each.context) for each in progress.warnings) == [
        ("Columns skipped", "orders: Parquet has no type for wait"),
        (
            "Table skipped",
            "broken: CatalogException, or leave it out with `--exclude` (`exclude` in Python)",
        ),
    ]


def test_a_damaged_file_of_duckdb_is_named(tmp_path: Path) -> None:
    file = tmp_path / "shop.duckdb"
    file.write_bytes(bytes(8) + b"DUCK" + bytes(5000))
    with pytest.raises(
        UnusableSourceError, match=r"shop\.duckdb' cannot be opened: .* Close the pro"
    ):
        copy_duckdb(file, tmp_path, prefix="", progress=RunProgress(), keeps=keep_all)


@dataclass
class Heard(RunProgress):
    """Progress that remembers its lines."""

    lines: list[str] = field(default_factory=list)

    def say(self, line: str) -> None:
        self.lines.append(line)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_batch, "_SOON", 0.1)
    for module in (local_batch, sources_module):
        monkeypatch.setattr(module, "VIEW_SECONDS", 1.0)


@pytest.mark.usefixtures("impatient")
def test_an_endless_view_of_duckdb_ends_is_named_and_can_be_left_out(tmp_path: Path) -> None:
    file, copies = tmp_path / "shop.duckdb", tmp_path / "copies"
    copies.mkdir()
    with duckdb.connect(str(file)) as connection:
        connection.execute(
            "CREATE TABLE orders AS SELECT 1 AS id; CREATE VIEW endless AS WITH RECURSIVE t AS "
            "(SELECT 1 AS n UNION ALL SELECT n + 1 FROM t) SELECT count(*) AS n FROM t"
        )
    progress = Heard()
    tables = copy_duckdb(file, copies, prefix="", progress=progress, keeps=keep_all)
    assert [str(table.id) for table in tables] == ["orders"]
    assert progress.lines == ["Reading the view endless"]
    [warning] = progress.warnings
    assert warning.title == "Table skipped"
    assert warning.context == (
        "endless: cannot be read: it takes longer than its time limit of 1 s. Make it faster, or "
        "leave it out with `--exclude` (`exclude` in Python)"
    )
    again = Heard()
    assert len(list_sources([file], copies, again, ["endless"])) == 1
    assert (again.lines, again.warnings) == ([], [])


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("kind", KINDS)
def test_each_view_of_a_database_is_copied_or_has_a_fault(kind: str, tmp_path: Path) -> None:
    slow = {"postgresql": "CAST(pg_sleep(9) AS text)", "mariadb": "sleep(9)"}.get(kind)
    with serving(kind, tmp_path) as server:
        server.run(
            "CREATE TABLE few (id INTEGER)",
            "INSERT INTO few VALUES (1)",
            "CREATE VIEW fast AS SELECT id AS n FROM few",
            "CREATE VIEW slow AS WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) "
            f"SELECT {slow or 'count(*)'} AS nap FROM {'few' if slow else 't'}",
        )
        progress = Heard()
        views = [server.view(name, view_timeout=1) for name in ("fast", "slow")]
        tables = copy_views([server.table("few"), *views], tmp_path, progress.say)
        locations = [each.location for each in tables]
        few, fast, lost = (each.copy for each in locations if isinstance(each, Relation))
        assert few is None
        assert fast
        assert [batch.to_pydict() for batch in read_copy(fast.file, ["n"])] == [{"n": ["1"]}]
        assert Path(fast.file).stat().st_mode & 0o777 == 0o600
        fault = (
            "cannot be read: it takes longer than its time limit of 1 s. Make it faster, or leave "
            "it out with `--exclude` (`exclude` in Python)"
        )
        assert lost == ViewCopy(fault=fault)
        with Databases() as databases:
            profile = profile_table(tables[2], ProfileConfig(), databases)
        assert profile.fault == fault
        assert f"Reading the view {tables[2].id}" in progress.lines


@pytest.mark.usefixtures("impatient")
def test_a_run_of_a_recipe_names_a_slow_view_while_it_reads_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serving("sqlite", tmp_path) as server:
        server.run(
            "CREATE VIEW slow AS WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) "
            "SELECT count(*) AS nap FROM t"
        )
        slow = server.view("slow", view_timeout=1)
        [profile] = profile_here([slow], ProfileConfig())
    assert "longer than its time limit of 1 s" in profile.fault
    assert caplog.messages == [f"Reading the view {slow.id}"]
