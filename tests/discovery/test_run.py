"""Test that a run without a recipe finds the joins that `datahub ingest` finds with one."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from datahub.ingestion.api.common import PipelineContext
from pyspark.sql import SparkSession

import datahub_hyperjoin
from datahub_hyperjoin import FoundJoins, find_joins
from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.discovery.errors import (
    ForbiddenValuesError,
    NoSqlError,
    UnknownTableError,
    UnusableSourceError,
)
from datahub_hyperjoin.discovery.progress import RunProgress, RunWarning
from datahub_hyperjoin.discovery.records import record_of, records_as_sql
from datahub_hyperjoin.discovery.run import run_discovery
from datahub_hyperjoin.errors import UnwritablePathError
from datahub_hyperjoin.explain.errors import UnknownColumnError
from datahub_hyperjoin.findings import Findings
from datahub_hyperjoin.joins import Statement
from datahub_hyperjoin.joins.errors import NoPathError
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.source import HyperJoinSource
from datahub_hyperjoin.spark import session
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.session import Session
from datahub_hyperjoin.tables import ColumnId

REFERENCES = {("orders.customer", "customers.id"), ("customers.region", "regions.code")}


@pytest.fixture(autouse=True)
def _without_spark(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail a test that starts Spark, unless the test asks for it."""

    def refuse(_: object) -> None:
        pytest.fail("Spark was started")

    if "spark" not in request.fixturenames:
        monkeypatch.setattr(session, "_create", refuse)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> FoundJoins:
    lake = tmp_path_factory.mktemp("lake") / "shop"
    lake.mkdir()
    orders = "".join(f"{at},C{at % 20:03}\n" for at in range(60))
    customers = "".join(f"C{at:03},Customer {at},R-{at % 4}\n" for at in range(20))
    (lake / "orders.csv").write_text("order_id,customer\n" + orders)
    (lake / "customers.csv").write_text("id,name,region\n" + customers)
    (lake / "regions.csv").write_text("code,title\nR-0,N\nR-1,E\nR-2,S\nR-3,W\n")
    (lake / "bad.parquet").write_bytes(b"none")
    (lake / "notes.xml").write_text("<a/>")
    return find_joins(lake)


def references(found: FoundJoins) -> set[tuple[str, str]]:
    joins = (join for join in found if join.role.value == "reference")
    return {(str(join.referring), str(join.referenced)) for join in joins}


def test_the_joins_are_those_of_datahub_ingest(
    spark_for_all: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del spark_for_all  # which the source borrows
    source = HyperJoinSource.create(
        # A page keeps the profiles of columns, and runs the SQL.
        {"catalog": {"folder": str(folder)}, "page": str(folder.parent / "joins.html")},
        PipelineContext(run_id="run", pipeline_name="joins"),
    )
    kept: list[Findings] = []
    find = source._find  # noqa: SLF001

    def keep(catalog: Catalog, started: Session) -> Findings:
        kept.append(find(catalog, started))
        return kept[0]

    monkeypatch.setattr(source, "_find", keep)
    assert [*source.get_workunits()]
    found = find_joins(folder)
    assert found.joins == kept[0].joins
    assert len(found) >= 2
    assert found.findings.suggestions == kept[0].suggestions
    # Whoever reads the SQL of a recipe may be in any folder.
    assert found.findings.statements == {
        pairs: replace(statement, sql=statement.sql.replace(f"{folder}/", ""))
        for pairs, statement in kept[0].statements.items()
    }
    # Without a recipe, no key of one could exclude a table.
    ours = [
        replace(each, table=replace(each.table, chosen_by="catalog.tables"))
        for each in found.findings.profiles
    ]
    assert [*kept[0].profiles] == ours


def test_a_result_describes_its_joins(found: FoundJoins) -> None:
    assert references(found) == {
        ("orders.csv.customer", "customers.csv.id"),
        ("customers.csv.region", "regions.csv.code"),
    }
    assert repr(found) == "<FoundJoins: 2 joins of 3 tables>"
    assert found.tables == ("customers.csv", "orders.csv", "regions.csv")
    assert [*found.not_read] == ["bad.parquet"]
    assert RunWarning("Files not read", ".xml: 1 file, for example notes.xml") in found.warnings
    assert "orders.csv.customer" in str(found)
    table = found.to_pandas()
    assert [*zip(table["left"], table["right"], table["cardinality"], strict=True)] == [
        ("orders.csv.customer", "customers.csv.id", "many-to-one"),
        ("customers.csv.region", "regions.csv.code", "many-to-one"),
    ]
    assert [*table["rows"]] == [60, 20]
    assert "<td>orders.csv.customer</td>" in found._repr_html_()


def test_a_result_gives_sql_that_runs(found: FoundJoins, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = found.findings.profiles[0].table.location
    monkeypatch.chdir(Path(str(getattr(folder, "uri", ""))).parent)
    first, *_ = found
    assert len(duckdb.execute(found.sql(first)).fetchall()) == 60
    other = replace(first, left=first.right, right=first.left)
    with pytest.raises(NoSqlError, match=r"= customers\.csv\.id is not among these joins"):
        found.sql(other)
    without = FoundJoins(replace(found.findings, statements={}))
    with pytest.raises(
        NoSqlError, match=r"this run wrote no SQL\. Pass `sql=True` to `find_joins`"
    ):
        without.sql(first)


def test_a_result_finds_paths(found: FoundJoins) -> None:
    path = found.path("orders", "regions.csv")
    assert [table.name for table in path.tables] == ["orders.csv", "customers.csv", "regions.csv"]
    assert path.is_safe
    arrows = "orders.csv.customer → customers.csv.id", "customers.csv.region → regions.csv.code"
    assert str(path) == "\n".join([*arrows, "One row for each row of orders.csv that matches"])
    assert repr(path) == f"<JoinPath: {', '.join(arrows)}>"
    with pytest.raises(
        UnknownTableError, match=r"no table is named 'order'. Did you mean 'orders\."
    ):
        found.path("order", "regions")
    assert found.path("orders.customer", "regions") == path
    assert found.path("regions.csv", "orders.csv.customer").tables == path.tables[::-1]
    with pytest.raises(
        UnknownColumnError,
        match=r"^the table 'orders\.csv' has no column 'custmer'\. Did you mean 'customer'\?$",
    ):
        found.path("orders.csv.custmer", "regions")
    with pytest.raises(NoPathError):
        found.path("orders", "bad.parquet")


def test_a_result_gives_the_page(found: FoundJoins, tmp_path: Path) -> None:
    page = found.to_html(tmp_path / "joins.html")
    assert '"signals":{"0":[' in page
    assert page == (tmp_path / "joins.html").read_text()
    assert page == found.to_html()
    assert "orders.csv" in page
    assert '"examples":{}' in page
    data = tmp_path / "orders.csv"
    data.write_text("id\n1\n")
    with pytest.raises(UnwritablePathError, match=r"`path` is .*, and it holds something else"):
        found.to_html(data)
    assert data.read_text() == "id\n1\n"


def test_a_page_shows_values_only_on_request(found: FoundJoins, tmp_path: Path) -> None:
    path = tmp_path / "joins.html"
    page = found.to_html(path, values=True)
    examples = page.partition('"examples":')[2].partition("}")[0]
    assert "C0" in examples
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ForbiddenValuesError, match="which `keep_values=False` of the run's"):
        replace(found, keeps_values=False).to_html(values=True)


def test_a_run_that_keeps_no_values_gives_a_page_without(frames: dict[str, pd.DataFrame]) -> None:
    found = find_joins(frames, sql=False, profile=ProfileConfig(keep_values=False))
    with pytest.raises(ForbiddenValuesError):
        found.to_html(values=True)
    assert '"examples":{}' in found.to_html()


def test_data_frames_are_read(frames: dict[str, pd.DataFrame]) -> None:
    found = find_joins(frames, model=ModelConfig())
    assert references(found) == REFERENCES
    orders, customers = frames["orders"], frames["customers"]
    [join] = [join for join in found if str(join.referring) == "orders.customer"]
    # DuckDB finds the frames by the names of these variables.
    assert len(orders) == len(duckdb.execute(found.sql(join)).fetchall()) == 60
    assert len(customers) == 20


def test_files_of_databases_are_read_together(
    frames: dict[str, pd.DataFrame], folder: Path, tmp_path: Path
) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        frames["customers"].to_sql("customers", connection, index=False)
    connection.close()
    with duckdb.connect(str(tmp_path / "geo.duckdb")) as geo:
        geo.from_df(frames["regions"]).create("regions")
    (folder / "customers.csv").unlink()
    (folder / "regions.csv").unlink()
    found = find_joins(folder, str(tmp_path / "shop.db"), tmp_path / "geo.duckdb")
    assert references(found) == {
        ("shop/orders.csv.customer", "shop-2.customers.id"),
        ("shop-2.customers.region", "geo.regions.code"),
    }
    with pytest.raises(NoSqlError, match=r"shop-2\.customers\.id has no SQL: "):
        found.sql(found.joins[0])


def test_the_keys_that_a_database_declares_are_followed(tmp_path: Path) -> None:
    file = tmp_path / "shop.sqlite"
    with sqlite3.connect(file) as connection:
        connection.executescript(
            """
            CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE orders (id INTEGER PRIMARY KEY, paid_by INTEGER REFERENCES customers);
            """
        )
        connection.executemany(
            "INSERT INTO customers VALUES (?, ?)", [(at, f"N{at}") for at in range(1, 10)]
        )
        connection.executemany(
            "INSERT INTO orders VALUES (?, ?)", [(at, at % 9 + 1) for at in range(1, 50)]
        )
    connection.close()
    found = find_joins(f"sqlite:///{file}")
    [join] = [join for join in found if join.catalog.declared]
    assert (str(join.referring), str(join.referenced)) == ("orders.paid_by", "customers.id")


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ([], "there is nothing to search. Name a folder"),
        ([3], "a source is a int. Pass a path, a URL or a dict of data frames"),
        ([{}], "'the dict of data frames' contains no table. Pass at least one frame"),
        (["nowhere"], "'nowhere' does not exist. Correct the path"),
        (["EMPTY"], "contains no table. Table files end in .csv"),
        (["EMPTY/../a.txt"], "is a file, but no DuckDB or SQLite database. Name the folder"),
        (["oracle+x://a:secret@h/d"], "oracle:// is no database that is read by its URL"),
        (["postgresql://a:secret@h:x/d"], "the postgresql:// URL cannot be parsed"),
        (["sqlite:////nowhere.db"], "'/nowhere.db' does not exist"),
    ],
)
def test_errors_name_the_source_and_the_fix(
    tmp_path: Path, sources: list[Any], message: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.txt").write_text("a")
    given = [
        each.replace("EMPTY", str(tmp_path / "empty")) if isinstance(each, str) else each
        for each in sources
    ]
    with pytest.raises(UnusableSourceError) as caught:
        find_joins(*given)
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


def test_the_package_has_no_other_lazy_names() -> None:
    with pytest.raises(AttributeError, match="'datahub_hyperjoin' has no attribute 'joins_of'"):
        _ = datahub_hyperjoin.joins_of


def test_records_are_plain_values(found: FoundJoins) -> None:
    assert json.loads(json.dumps(found.records())) == found.records()


def test_declared_keys_without_values_are_kept_and_marked(tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(
            "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT);"
            "CREATE TABLE team (id INTEGER PRIMARY KEY, boss INTEGER REFERENCES users (id), "
            "deputy INTEGER REFERENCES users (id));"
            "CREATE TABLE later (id INTEGER PRIMARY KEY, team_id INTEGER REFERENCES team (id));"
            + "".join(f"INSERT INTO users VALUES ({at}, 'n{at}');" for at in range(40))
            + "".join(f"INSERT INTO team VALUES ({at}, {at % 40}, NULL);" for at in range(90))
        )
    found = find_joins(file)
    declared = [("team.deputy", "users.id"), ("later.team_id", "team.id")]
    lines, page = str(found).splitlines(), found.to_html()
    assert {(each["left"], each["right"]) for each in found.declared_records()} == {*declared}
    assert all(f"{left} → {right} (declared, not verified)" in lines for left, right in declared)
    assert all(f"<li>{left} → {right}</li>" in page for left, right in declared)
    record = found.declared_records()[0]
    assert (record["status"], "rows" in record) == ("declared, not verified", False)
    assert [each["status"] for each in found.records()] == ["verified"] * len(found)
    assert {(str(j.referring), str(j.referenced)) for j in found} >= {("team.boss", "users.id")}


def test_records_name_tables_and_columns_as_decisions_do(found: FoundJoins) -> None:
    first = found.records()[0]
    names = [first[side] for side in ("left_table", "left_column", "right_table", "right_column")]
    join = found.joins[0]
    assert join.referring
    assert join.referenced
    assert names == [
        join.referring.table.name,
        join.referring.path,
        join.referenced.table.name,
        join.referenced.path,
    ]
    more = ColumnId(join.left.table, "name"), ColumnId(join.right.table, "title")
    composite = record_of(replace(join, further=(more,)), Statement(reason="no\nreason"), {})
    ends = {composite["left_column"], composite["right_column"]}
    assert ends == {f'["{join.left.path}", "name"]', f'["{join.right.path}", "title"]'}
    comment = records_as_sql([composite])
    assert comment.endswith(") has no SQL: no reason\n")
    assert comment.count("\n") == 1


def test_a_column_that_got_its_name_is_told_and_is_no_warning(tmp_path: Path) -> None:
    cars = [f"Car {at}" for at in range(30)]
    own = "".join(f"{car},{at}\n" for at, car in enumerate(cars))
    tmp_path.joinpath("cars.csv").write_text(",mpg\n" + own)
    tmp_path.joinpath("owners.csv").write_text("row_name,owner\n" + own)
    progress = Said()
    found = run_discovery([tmp_path], progress, sql=None)
    assert "First columns without a name, called row_name: cars.csv" in progress.lines
    assert progress.counts["columns_called_row_name"] == 1
    assert found.warnings == ()
    assert str(found.joins[0].left) == "cars.csv.row_name"


class Said(RunProgress):
    """A progress report that keeps its lines."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


def test_a_run_that_trains_nothing_does_not_import_torch(folder: Path) -> None:
    code = f"""import sys
from datahub_hyperjoin import find_joins

print(len(find_joins({str(folder)!r}).joins), "torch" in sys.modules)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "2 False\n"
