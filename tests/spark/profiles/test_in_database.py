"""Test that a database selects the values of which profiles are those of all rows."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from servers import Server, serving

from datahub_hyperjoin.locations import Compute, Relation
from datahub_hyperjoin.normal_form import normal_form
from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.profiles.in_database import aggregate_in_database
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.spark.profiles.routes import Route, route_of
from datahub_hyperjoin.tables import ColumnProfile, DataType, Table, TableProfile

ROWS = 5000
COLUMNS = {
    "id": ("bigint", "g"),
    "big": ("bigint", "9223372036854775807 - g"),
    "parent": ("integer", "nullif(g % 700, 3)"),
    "constant": ("integer", "7"),
    "name": ("text", "CASE g % 3 WHEN 0 THEN 'Customer ' || g WHEN 1 THEN ' customer  ' || g END"),
    "city": ("varchar(30)", "(array['Köln', 'KÖLN', 'Oslo', 'oslo ', 'NA', '', ' '])[g % 7 + 1]"),
    "street": ("text", "'Straße ' || g % 900"),
    "few_foreign": ("text", "CASE WHEN g % 500 = 0 THEN 'Ünique ' ELSE 'plain ' END || g"),
    "code": ("char(8)", "'C' || g % 1200"),
    "padded": ("text", "lpad((g * 7)::text, 8, '0')"),
    "written": ("text", "(g * 3) || CASE WHEN g % 2 = 0 THEN '.0' ELSE '' END"),
    "mostly": ("text", "CASE g WHEN 4321 THEN 'x1' WHEN 77 THEN 'n/a' ELSE g::text END"),
    "missing": ("text", "CASE WHEN g % 3 = 0 THEN 'n/a' ELSE g::text END"),
    "long": ("text", "repeat(g::text || ' ', 90)"),
    "price": ("numeric(12, 4)", "g / 4.0"),
    "rarely": ("numeric", "CASE g WHEN 4000 THEN 0.5 WHEN 9 THEN 'NaN' ELSE g END"),
    "rate": ("double precision", "CASE g WHEN 5 THEN 'inf' ELSE g / 7.0 * 1e-5 END"),
    "small": ("real", "g / 10.0"),
    "flag": ("boolean", "g % 2 = 0"),
    "day": ("date", "date '2000-01-01' + g"),
    "early": ("date", "CASE g WHEN 8 THEN '0044-03-15 BC' ELSE date '2000-01-01' + g END"),
    "at": ("timestamp", "timestamp '2020-01-01' + g * interval '13 minutes 0.25 seconds'"),
    "midnights": ("timestamp", "timestamp '2020-01-01' + g * interval '1 day'"),
    "zoned": ("timestamptz", "timestamptz '2020-01-01 00:00+02' + g * interval '1 hour'"),
    "key": ("uuid", "md5(g::text)::uuid"),
    "net": ("inet", "inet '10.0.0.0' + g"),
    "clock": ("time", "time '00:00' + g * interval '11 seconds'"),
    "tags": ("text[]", "array[g::text]"),
    "void": ("text", "NULL"),
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving("postgresql", tmp_path) as running:
        yield running


def table_in(server: Server, compute: Compute, name: str = "facts") -> Table:
    table = server.table(name)
    assert isinstance(table.location, Relation)
    database = replace(table.location.database, compute=compute)
    return replace(table, location=replace(table.location, database=database))


def profiles(server: Server, config: ProfileConfig, name: str = "facts") -> list[TableProfile]:
    """Profile a table in its database, and by reading it."""
    with Databases() as databases:
        return [
            profile_table(table_in(server, compute, name), config, databases)
            for compute in (Compute.DATABASE, Compute.SPARK)
        ]


def create(server: Server) -> None:
    columns = ", ".join(f"{name} {type_}" for name, (type_, _) in COLUMNS.items())
    values = ", ".join(f"({value})::{type_}" for type_, value in COLUMNS.values())
    server.run(
        f"CREATE TABLE facts ({columns})",
        f"INSERT INTO facts SELECT {values} FROM generate_series(1, {ROWS}) AS g",
    )


def comparable(column: ColumnProfile) -> ColumnProfile:
    """Leave out what depends on the order of rows: which of several texts is kept."""
    sample = tuple(map(normal_form, column.sample))
    lengths = replace(column.lengths, mean=0.0)
    if column.id.path == "code":  # the database drops the spaces that fill up a `char(8)`
        lengths = replace(lengths, shortest=2, longest=5)
    return replace(column, sample=sample, patterns=(), lengths=lengths)


@pytest.mark.parametrize("sketch_size", [64, 4096])
def test_profiles_are_those_of_all_rows(server: Server, sketch_size: int) -> None:
    create(server)
    selected, read = profiles(server, ProfileConfig(sketch_size=sketch_size, sample_size=32))
    assert (selected.fault, read.fault) == ("", "")
    assert (selected.rows, selected.notes) == (ROWS, read.notes)
    assert {one.id.path for one in selected.columns} == {*COLUMNS}
    for one, other in zip(selected.columns, read.columns, strict=True):
        assert comparable(one) == comparable(other), one.id.path


def test_few_values_of_a_long_column_leave_the_database(server: Server) -> None:
    create(server)
    with Databases() as databases:
        table = table_in(server, Compute.DATABASE)
        found = aggregate_in_database(table, databases, 65)
    assert found
    assert found.rows == ROWS
    assert {found.aggregates[name].rows for name in found.aggregates} == {ROWS}
    assert found.aggregates["mostly"].type is DataType.TEXT
    assert found.aggregates["rarely"].type is DataType.DECIMAL
    assert found.aggregates["id"].lengths == (1, 4)


def test_a_table_that_the_database_cannot_count_is_read(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    server.run(
        "CREATE TABLE places (id integer, at point)", "INSERT INTO places VALUES (1, '(1,2)')"
    )
    selected, read = profiles(server, ProfileConfig(), "places")
    assert selected.columns == read.columns
    assert "because the database could not count it: could not identify" in caplog.text


def test_empty_tables_are_reported_as_such(server: Server) -> None:
    server.run("CREATE TABLE vacant (id integer)", "CREATE TABLE bare ()")
    assert profiles(server, ProfileConfig(), "vacant")[0].fault == "has no rows. Add rows"
    assert profiles(server, ProfileConfig(), "gone")[0].fault == (
        "cannot be read: it no longer exists. Run again"
    )


def test_only_a_database_that_cannot_select_values_is_read_by_many_tasks(server: Server) -> None:
    large = replace(table_in(server, Compute.DATABASE), size=1 << 40)
    assert route_of(large, ProfileConfig()) is Route.LOCAL_BATCH
    large = replace(table_in(server, Compute.SPARK), size=1 << 40)
    assert route_of(large, ProfileConfig()) is Route.DISTRIBUTED
