"""Test that a view is read once, and that all stages see the same rows."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from datahub_hyperjoin.locations import Relation, ViewCopy
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.databases.relations import write_copy
from datahub_hyperjoin.spark.errors import UnreadableRelationError
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.spark.read import read_table
from datahub_hyperjoin.spark.verification.in_database import count_in_databases
from datahub_hyperjoin.tables import ColumnId, Table
from engines.servers import KINDS, Server, serving

RECURSIVE = "WITH RECURSIVE t(n) AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t{}) "


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with serving(request.param, tmp_path) as running:
        yield running


def copied(table: Table, folder: Path) -> Table:
    view, file = table.location, folder / "copy.arrow"
    assert isinstance(view, Relation)
    with Databases() as databases:
        write_copy(view, databases.engine(view), file)
    return replace(table, location=replace(view, copy=ViewCopy(file=str(file))))


def test_a_copy_has_the_profile_of_the_view(server: Server, tmp_path: Path) -> None:
    server.run(
        "CREATE TABLE kinds (n INTEGER, price DECIMAL(9, 2), day DATE, word VARCHAR(9))",
        "INSERT INTO kinds VALUES (1, 1.50, '2024-02-29', 'a'), (2, 2.25, NULL, NULL)",
        f"CREATE VIEW v_kinds AS SELECT price, n, word AS {server.quote('a.word')}, day FROM kinds",
    )
    table = server.view("v_kinds")
    with Databases() as databases:
        expected = profile_table(table, ProfileConfig(), databases)
        found = profile_table(copied(table, tmp_path), ProfileConfig(), databases)
    assert found.columns == expected.columns
    assert (found.rows, found.notes, found.fault) == (2, expected.notes, "")


def test_a_view_that_differs_each_time_has_the_same_rows_for_all_stages(
    server: Server, tmp_path: Path
) -> None:
    random = {"sqlite": "random()", "mariadb": "rand()", "postgresql": "random()"}[server.kind]
    server.run(
        "CREATE TABLE few (id INTEGER)",
        "INSERT INTO few VALUES (1), (2), (3)",
        f"CREATE VIEW luck AS SELECT id, {random} AS number FROM few",
    )
    table = copied(server.view("luck"), tmp_path)
    seen = []
    with Databases() as databases:
        for paths in (["number"], ["number", "id"], None):
            stream = read_table(table, databases, max_rows=9, paths=paths)
            seen += [batch.column("number").to_pylist() for batch in stream.batches]
    assert seen[0] == seen[1] == seen[2]
    # The database would count others.
    ends = ColumnId(table.id, "number"), ColumnId(table.id, "id")
    assert count_in_databases([table], [ends], frozenset()) == {}


def test_a_view_without_rows_or_comparable_columns_is_read(server: Server, tmp_path: Path) -> None:
    bytes_ = {"postgresql": "BYTEA"}.get(server.kind, "BLOB")
    server.run(
        f"CREATE TABLE pictures (picture {bytes_})",
        "INSERT INTO pictures VALUES (NULL)",
        "CREATE VIEW seen AS SELECT picture FROM pictures",
        "CREATE VIEW vacant AS SELECT picture AS other FROM pictures WHERE 1 = 0",
    )
    with Databases() as databases:
        for name, rows, fault in (("seen", 1, ""), ("vacant", 0, "has no rows. Add rows")):
            profile = profile_table(copied(server.view(name), tmp_path), ProfileConfig(), databases)
            assert (profile.rows, profile.fault) == (rows, fault)


def test_a_view_of_endless_rows_ends_at_its_limit(server: Server, tmp_path: Path) -> None:
    # MariaDB itself ends the recursion after some rows.
    rows = f"{RECURSIVE.format('')}SELECT n FROM t"
    if server.kind == "mariadb":
        server.run(
            "CREATE TABLE ten (n INTEGER)", f"INSERT INTO ten VALUES {', '.join(['(1)'] * 10)}"
        )
        rows = f"SELECT 1 AS n FROM {', '.join(f'ten t{at}' for at in range(12))}"
    server.run(f"CREATE VIEW endless AS {rows}")
    with pytest.raises(UnreadableRelationError, match="longer than its time limit of 1 s"):
        copied(server.view("endless", view_timeout=1), tmp_path)
