"""Test that equal values of different database types are recognised as equal."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from datahub_hyperjoin.spark.config import ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from datahub_hyperjoin.spark.verification.verify import verify_joins
from datahub_hyperjoin.tables import ColumnId, TableProfile
from engines.servers import Server, serving

SERVERS = ("postgresql", "mariadb")
ROWS = 3_000
PRICES = [f"{number % 2_500 / 100:.2f}" for number in range(ROWS)]


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with serving(request.param, tmp_path) as running:
        yield running


def fill(server: Server, name: str, type_: str, values: list[str]) -> None:
    rows = ", ".join(f"({value})" for value in values)
    server.run(f"CREATE TABLE {name} (v {type_})", f"INSERT INTO {name} VALUES {rows}")


def profile_of(server: Server, name: str) -> TableProfile:
    with Databases() as databases:
        return profile_table(server.table(name), ProfileConfig(), databases)


def sample_of(server: Server, name: str) -> list[str]:
    found = profile_of(server, name)
    assert found.fault == ""
    return sorted(found.columns[0].sample)


def shared_by_duckdb(left: tuple[str, list[str]], right: tuple[str, list[str]]) -> int:
    """Count the distinct values that two typed columns share, by a join in DuckDB."""
    with duckdb.connect() as oracle:
        for name, (type_, values) in {"l": left, "r": right}.items():
            rows = ", ".join(f"({value})" for value in values)
            oracle.execute(f"CREATE TABLE {name} (v {type_})")
            oracle.execute(f"INSERT INTO {name} VALUES {rows}")
        [(shared,)] = oracle.execute(
            "SELECT count(DISTINCT l.v) FROM l JOIN r USING (v)"
        ).fetchall()
    return int(shared)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("decimal(12,2)", "decimal(18,4)"),
        ("decimal(12,2)", "double precision"),
        ("decimal(12,6)", "decimal(9,3)"),
    ],
)
def test_equal_numbers_of_different_types_join(
    spark: SparkSession, server: Server, left: str, right: str
) -> None:
    others = PRICES[: ROWS // 2]
    fill(server, "l", left, PRICES)
    fill(server, "r", right, others)
    tables = [server.table("l"), server.table("r")]
    pair = ColumnId(tables[0].id, "v"), ColumnId(tables[1].id, "v")
    found = verify_joins(spark, tables, [pair])[pair]
    assert found.shared == shared_by_duckdb((left, PRICES), (right.split(maxsplit=1)[0], others))
    assert (found.right_containment, found.compared_as) == (1.0, "")


def test_decimals_of_any_scale_are_counted_once(server: Server) -> None:
    if server.kind == "mariadb":
        pytest.skip("its decimals have one scale")
    fill(
        server, "prices", "numeric", ["1.5", "1.50", "1.500", "0.0000001", "1e-7", "1500", "1.5e3"]
    )
    profile = profile_of(server, "prices")
    assert profile.columns[0].distinct == 3
    assert sorted(profile.columns[0].sample) == ["0.0000001", "1.5", "1500"]


def test_times_are_written_as_the_database_writes_them(server: Server) -> None:
    fill(server, "times", "time", ["'09:30:00'", "'23:59:59'"])
    assert sample_of(server, "times") == ["09:30:00", "23:59:59"]


def test_bits_are_numbers_in_mariadb(server: Server) -> None:
    if server.kind == "postgresql":
        pytest.skip("its bits are text")
    fill(server, "bits", "bit(9)", ["b'111'", "b'100000001'"])
    assert sample_of(server, "bits") == ["257", "7"]


def test_durations_beyond_a_day_keep_their_hours(server: Server) -> None:
    type_ = "interval" if server.kind == "postgresql" else "time"
    fill(server, "durations", type_, ["'26:00:00'", "'-01:30:00'"])
    assert sample_of(server, "durations") == ["-01:30:00", "26:00:00"]


def test_dates_before_the_year_1_are_text_among_others(server: Server) -> None:
    if server.kind == "mariadb":
        pytest.skip("it has no such dates")
    fill(server, "dates", "date", ["'0044-03-15 BC'", "'2024-01-31'", "NULL"])
    assert sample_of(server, "dates") == ["0044-03-15 BC", "2024-01-31"]
    zoned = ["'0044-03-15 10:00+00 BC'", "'2024-01-31 10:00+01'"]
    fill(server, "instants", "timestamptz", zoned)
    assert "2024-01-31 09:00:00" in sample_of(server, "instants")


@pytest.mark.parametrize(
    ("kind", "type_", "value", "expected"),
    [
        ("postgresql", "numeric", "'Infinity'", "Infinity"),
        ("postgresql", "numeric", "1e50", "1" + "0" * 50),
        ("mariadb", "decimal(65, 1)", "1e60", "1" + "0" * 60),
        ("sqlite", "text", "CAST(x'4bf66c6e' AS TEXT)", "K\ufffdln"),
        ("sqlite", "integer", "1e999", "inf"),
        ("sqlite", "date", "'yesterday'", "yesterday"),
    ],
)
def test_an_odd_value_costs_no_table(
    tmp_path: Path, kind: str, type_: str, value: str, expected: str
) -> None:
    with serving(kind, tmp_path) as server:
        fill(server, "odd", type_, ["1.5", value])
        assert sample_of(server, "odd") == sorted(["1.5", expected])
