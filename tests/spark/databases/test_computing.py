"""Test in which SQL dialect a server computes normal forms, and under which settings."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import make_url

from datahub_hyperjoin.locations import Compute, Database
from datahub_hyperjoin.spark.config import Md5ProfileConfig
from datahub_hyperjoin.spark.databases.engines import Databases, open_engine
from datahub_hyperjoin.spark.databases.system import (
    _BUILT_IN,
    computing_system,
    is_asked_to_compute,
    system_named,
)
from datahub_hyperjoin.spark.profiles.in_database import count_in_database
from datahub_hyperjoin.spark.profiles.local_batch import profile_table
from engines.columns_by_system import COMPUTING, MESSY
from engines.filled_tables import fill, literal
from engines.servers import Server, serving


@pytest.fixture
def mariadb(tmp_path: Path) -> Iterator[Server]:
    with serving("mariadb", tmp_path) as running:
        yield running


def database_with(server: Server, drivername: str = "", **query: str) -> Database:
    url = make_url(server.url).update_query_dict(query)
    url = url.set(drivername=drivername) if drivername else url
    url_text = SecretStr(url.render_as_string(hide_password=False))
    return Database(url=url_text, compute=Compute.DATABASE)


def computes(database: Database) -> bool:
    engine = open_engine("connections[0]", database)
    with engine.connect() as connection:
        found = computing_system(connection)
    engine.dispose()
    return found is not None


@pytest.mark.parametrize("kind", COMPUTING)
def test_servers_of_these_systems_compute(tmp_path: Path, kind: str) -> None:
    # `test_bigquery` tests the only one that no server stands for.
    computing = {each for each in _BUILT_IN if system_named(each).syntax} - {"postgres"}
    assert {*COMPUTING, "bigquery"} == computing
    with serving(kind, tmp_path) as server:
        assert computes(server.database())


def test_sqlite_does_not_compute(tmp_path: Path) -> None:
    with serving("sqlite", tmp_path) as server:
        assert not computes(server.database())


def test_mariadb_is_recognised_behind_the_name_of_mysql(mariadb: Server) -> None:
    assert computes(database_with(mariadb, "mysql+pymysql"))


@pytest.mark.parametrize(
    "settings",
    [
        {"charset": "latin1"},
        {"sql_mode": "NO_BACKSLASH_ESCAPES"},
        {"sql_mode": "ORACLE"},
        {"sql_mode": "ANSI_QUOTES,EMPTY_STRING_IS_NULL"},
        {"sql_mode": "PAD_CHAR_TO_FULL_LENGTH"},
    ],
)
def test_mariadb_does_not_compute_if_settings_change_the_sql(
    mariadb: Server, settings: dict[str, str]
) -> None:
    assert not computes(database_with(mariadb, **settings))


@pytest.mark.parametrize(
    "settings",
    [
        {"sql_mode": "ANSI_QUOTES,PIPES_AS_CONCAT,ONLY_FULL_GROUP_BY,HIGH_NOT_PRECEDENCE"},
        {"init_command": "SET default_regex_flags = 'EXTENDED,MULTILINE,DOTALL'"},
        {"init_command": "SET group_concat_max_len = 4, max_sort_length = 8, time_zone = '+05:00'"},
        {"init_command": "SET collation_connection = utf8mb4_unicode_ci"},
    ],
)
def test_other_settings_of_mariadb_change_nothing(
    mariadb: Server, settings: dict[str, str]
) -> None:
    long = [f"{'x' * 600} {number % 9}" for number in range(40)]
    fill(mariadb, "t", "text", [literal(mariadb, text) for text in (*MESSY[:30], *long)])
    mariadb.run(
        "ALTER TABLE t ADD at timestamp DEFAULT '2024-01-31 00:30:00', ADD n double DEFAULT 1.50"
    )
    config = Md5ProfileConfig(sample_size=8)
    database = database_with(mariadb, **settings)
    table = mariadb.table("t", database)
    with Databases() as databases:
        counted = count_in_database(table, databases, config)
        found = profile_table(table, config, databases)
        read = mariadb.table("t", replace(database, compute=Compute.SPARK))
        expected = profile_table(read, config, databases)
    assert counted
    assert counted.unread == []
    for one, other in zip(found.columns, expected.columns, strict=True):
        assert (one.sketch, one.rows, one.nulls) == (other.sketch, other.rows, other.nulls)


@pytest.mark.parametrize(
    ("url", "by_default"),
    [
        ("postgresql+psycopg2://me@host/shop", True),
        ("mariadb+pymysql://me@host/shop", False),
        ("sqlite:///shop.db", False),
        ("not a URL", False),
    ],
)
def test_postgresql_computes_by_default(url: str, *, by_default: bool) -> None:
    database = Database(url=SecretStr(url))
    assert is_asked_to_compute(database) is by_default
    assert is_asked_to_compute(replace(database, compute=Compute.DATABASE))
    assert not is_asked_to_compute(replace(database, compute=Compute.SPARK))
