"""Test when runs choose MD5, a hash that databases can compute, and what MD5 changes."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from datahub_hyperjoin.catalog.catalog import Catalog
from datahub_hyperjoin.catalog.config import ConnectionConfig
from datahub_hyperjoin.catalog.databases import scan_database
from datahub_hyperjoin.catalog.folders import scan_folder
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.find import FindConfig, find
from datahub_hyperjoin.locations import Compute, Database, Relation
from datahub_hyperjoin.report import HyperJoinReport
from datahub_hyperjoin.spark.config import Md5ProfileConfig, ProfileConfig
from datahub_hyperjoin.spark.databases.engines import open_engine
from datahub_hyperjoin.spark.databases.listing import list_relations
from datahub_hyperjoin.spark.databases.system import system_named
from datahub_hyperjoin.spark.profiles import value_hash
from datahub_hyperjoin.spark.profiles.value_hash import counts_itself, with_value_hash
from datahub_hyperjoin.spark.routes import Route, need_spark, route_of
from datahub_hyperjoin.tables import ColumnId, Table, ValueHash
from engines.columns_by_system import COMPUTING
from engines.filled_tables import numbered, series
from engines.servers import Server, serving

CONFIG = ProfileConfig()


@pytest.fixture(params=COMPUTING)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with serving(request.param, tmp_path) as running:
        running.run("CREATE TABLE cities (id integer)", "INSERT INTO cities VALUES (1)")
        yield running


def chosen(*tables: Table, config: ProfileConfig = CONFIG) -> ValueHash:
    return with_value_hash(config, tables).value_hash


def sizes(server: Server) -> dict[str, int]:
    engine = open_engine("connections[0]", server.database())
    listed = list_relations(
        engine, "connections[0]", wanted=lambda schema: schema == server.schema, views=True
    )
    engine.dispose()
    return {one.name: one.size for one in listed}


def test_many_bytes_that_databases_can_count_decide(server: Server) -> None:
    half = replace(server.table("cities"), size=1 << 27)
    less, small = replace(half, size=half.size - 1), replace(half, size=1 << 17)
    reading = server.table("cities", replace(server.database(), compute=Compute.SPARK))
    assert chosen(half, half) is ValueHash.MD5
    assert chosen(half, less) is ValueHash.SIPHASH
    assert chosen(half, replace(reading, size=1 << 40)) is ValueHash.SIPHASH
    # Tables that are smaller than their profiles are read in any case.
    assert chosen(*[small] * 4096) is ValueHash.SIPHASH
    assert chosen(*[small] * 4096, config=replace(CONFIG, sketch_size=64)) is ValueHash.MD5
    assert chosen() is ValueHash.SIPHASH


def test_tables_of_unknown_size_decide_if_no_size_is_listed(server: Server) -> None:
    unknown = replace(server.table("cities"), size=0)
    lists_sizes = system_named(server.kind).lists_sizes
    assert chosen(unknown) is (ValueHash.SIPHASH if lists_sizes else ValueHash.MD5)
    assert counts_itself(unknown, Md5ProfileConfig.of(CONFIG)) is not lists_sizes
    assert lists_sizes is bool(sizes(server)["cities"])
    reading = server.table("cities", replace(server.database(), compute=Compute.SPARK))
    assert chosen(replace(reading, size=0)) is ValueHash.SIPHASH


def test_only_databases_that_can_count_decide(server: Server) -> None:
    half = replace(server.table("cities"), size=1 << 27)
    unreachable = Database(url=SecretStr("postgresql+psycopg2://me@127.0.0.1:1/shop"))
    other = replace(server.table("cities", unreachable), size=1 << 27)
    assert chosen(half, other) is ValueHash.SIPHASH


@pytest.mark.parametrize(
    ("url", "log"),
    [
        ("postgresql+psycopg2://me:hush@127.0.0.1:1/shop", "that could not count them: "),
        ("sqlite:///shop.db", ""),
        ("nonsense", ""),
    ],
)
def test_databases_that_cannot_count_decide_nothing(
    server: Server, caplog: pytest.LogCaptureFixture, url: str, log: str
) -> None:
    caplog.set_level("INFO", "datahub_hyperjoin")
    table = replace(server.table("cities", Database(url=SecretStr(url))), size=1 << 28)
    assert chosen(table) is ValueHash.SIPHASH
    assert bool(caplog.text) == bool(log)
    assert log in caplog.text
    assert "hush" not in caplog.text


def test_tables_that_are_counted_need_neither_ranges_nor_spark(server: Server) -> None:
    huge = replace(server.table("cities"), size=1 << 40)
    by_md5 = Md5ProfileConfig.of(CONFIG)
    assert (counts_itself(huge, CONFIG), counts_itself(huge, by_md5)) == (False, True)
    assert route_of(huge, CONFIG) is Route.DISTRIBUTED
    assert route_of(huge, by_md5) is Route.LOCAL_BATCH
    assert need_spark([huge], CONFIG)
    assert not need_spark([huge], by_md5)


def test_settings_with_another_hash_are_the_same_otherwise() -> None:
    config = ProfileConfig(max_rows=7, personal_columns=("iban",))
    by_md5 = Md5ProfileConfig.of(config)
    assert repr(by_md5) == "Md5" + repr(config)
    assert replace(by_md5, max_rows=8).value_hash is ValueHash.MD5


def test_joins_of_files_and_databases_are_found_under_each_hash(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if server.kind in {"databricks", "redshift"}:
        pytest.skip("other processes do not know its local stand-in")
    monkeypatch.setattr(value_hash, "_DECISIVE_BYTES", 1 << 20)
    server.run(
        f"CREATE TABLE customers AS SELECT i AS customer_id, {numbered(server, 'Customer ')} "
        f"AS name, rpad('x', 60, 'x') AS filler FROM {series(server, 20_000)}",
        *(
            []
            if server.kind == "trino"
            else ["ALTER TABLE customers ADD PRIMARY KEY (customer_id)"]
        ),
        *(["ANALYZE TABLE customers"] if server.kind == "mariadb" else []),
    )
    rows = "\n".join(f"{at},{at * 37 % 20_000 + 1}" for at in range(5_000))
    folder = tmp_path / "lake"
    folder.mkdir()
    (folder / "orders.csv").write_text(f"order_id,customer_id\n{rows}\n")
    connection = ConnectionConfig.model_validate(
        {"database": {"url": server.url}, "schemas": {"allow": [f"^{server.schema}$"]}}
    )
    assert connection.database
    tables = [
        *scan_database("connections[0]", connection.database, connection.selection),
        *scan_folder(folder, TableSelection(platform="file", env="PROD"), warn=print),
    ]
    if server.kind == "snowflake":
        # Its emulator tells no bytes.
        tables = [replace(table, size=max(table.size, 1 << 20)) for table in tables]
    found, evidence = set[ValueHash](), []
    for compute in Compute:
        findings = find(
            Catalog(tables=[located_at(table, compute) for table in tables]),
            FindConfig(profile=CONFIG),
            HyperJoinReport(),
            lambda: None,
        )
        found.update(profile.value_hash for profile in findings.profiles)
        evidence.append(
            {(join.left, join.right): (join.evidence, join.referenced) for join in findings.joins}
        )
    assert found == {*ValueHash}
    assert evidence[0] == evidence[1]
    key = ColumnId(tables[1].id, "customer_id")
    [(_, referenced)] = evidence[0].values()
    assert referenced == key


def located_at(table: Table, compute: Compute) -> Table:
    if not isinstance(table.location, Relation):
        return table
    database = replace(table.location.database, compute=compute)
    return replace(table, location=replace(table.location, database=database))
