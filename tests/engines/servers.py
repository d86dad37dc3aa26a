"""Give each test its own schema in a local database server or in SQLite."""

import atexit
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from uuid import uuid4

import pytest
from pydantic import SecretStr
from sqlalchemy import URL, Engine, create_engine, make_url, text
from sqlalchemy.exc import OperationalError

from datahub_hyperjoin.locations import Compute, Database, Relation
from datahub_hyperjoin.spark.databases.engines import open_engine
from datahub_hyperjoin.spark.databases.listing import list_relations
from datahub_hyperjoin.tables import Table, TableId
from engines.redshift_functions import own_schema, redshift_functions

# Otherwise, no URL of Snowflake leads to a server without TLS. Spark's workers inherit it.
os.environ["SNOWFLAKE_SQLALCHEMY_LEGACY_URL_PARAMS"] = "true"

KINDS = ("postgresql", "mariadb", "sqlite")
_SETTLES = {"postgresql": 0.0, "mariadb": 3.2, "sqlite": 2.2}
"""Seconds after a write until a database can reliably tell whether there was another write."""

_ALLOWED = (
    "allow_create_index_without_type",
    "allow_suspicious_low_cardinality_types",
    "create_table_empty_primary_key_by_default",
    "enable_time_time64_type",
)
"""Settings under which ClickHouse accepts the statements of tests."""

_CASCADING = {"postgresql", "databricks", "redshift", "trino"}
"""Systems in which `CASCADE` drops a schema with all that it contains."""

SERVERS = {
    "postgresql": os.environ.get(
        "HYPERJOIN_POSTGRES", "postgresql+psycopg2://postgres@127.0.0.1/test"
    ),
    "mariadb": os.environ.get("HYPERJOIN_MARIADB", "mariadb+pymysql://root@127.0.0.1/test"),
}


class Server:
    """A database, with its own schema for one test."""

    def __init__(self, url: str, schema: str) -> None:
        self.url = url
        self.schema = schema
        self.kind = make_url(url).get_backend_name()
        # Tested before each use, because the server may have been restarted.
        self.engine: Engine = create_engine(
            url, connect_args=_settings(self.kind, schema), pool_pre_ping=True
        )

    def run(self, *statements: str) -> None:
        """Execute statements unchanged.

        Without parameters, drivers do not interpret `%`.
        """
        with closing(self.engine.raw_connection()) as connection:
            for statement in statements:
                connection.cursor().execute(statement)
            connection.commit()

    def quote(self, name: str) -> str:
        mark = "`" if self.kind in {"mariadb", "databricks"} else '"'
        return mark + name.replace(mark, mark * 2) + mark

    def database(self, **settings: float) -> Database:
        """Return the database, which computes what it can, unlike MariaDB by default."""
        computing = {"compute": Compute.DATABASE, **settings}
        return Database(url=SecretStr(self.url), **computing)  # type: ignore[arg-type]

    def table(self, name: str, database: Database | None = None) -> Table:
        place = Relation(
            database=database or self.database(),
            connection="connections[0]",
            schema=self.schema,
            name=name,
        )
        return Table(
            id=TableId("db", f"{self.schema}.{name}"), title=name, location=place, size=1 << 20
        )

    def view(self, name: str, **settings: float) -> Table:
        """Return a view, with settings of its database."""
        table = self.table(name, self.database(**settings))
        assert isinstance(table.location, Relation)
        return replace(table, location=replace(table.location, is_view=True), size=0)


def postgresql_url() -> str:
    """Return the URL of the PostgreSQL server that tests use."""
    return SERVERS["postgresql"]


def free_port() -> int:
    """Return a port of this machine that no server uses."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        port: int = listening.getsockname()[1]
        return port


def _settings(kind: str, schema: str) -> dict[str, object]:
    """Return the arguments of connections that let the same statements run on each system."""
    if kind == "postgresql":
        return {"options": f"-csearch_path={schema}"}
    if kind == "clickhouse":
        return {"ch_settings": dict.fromkeys(_ALLOWED, 1)}
    return {}


@contextmanager
def serving(kind: str, folder: Path, *, at: str = "") -> Iterator[Server]:
    """Set up a database of the given kind with a new schema.

    The test is skipped if no server answers. `at` is the URL of another server.
    """
    if kind == "sqlite":
        found = Server(f"sqlite:///{folder}/shop.db", "main")
        yield found
        found.engine.dispose()
        return
    at = at or (_ENGINES[kind]() if kind in _ENGINES else SERVERS[kind])
    url, schema = make_url(at), f"hyperjoin_{uuid4().hex[:8]}"
    word = "DATABASE" if kind == "clickhouse" else "SCHEMA"
    asked = create_engine(url, pool_pre_ping=True)
    try:
        with asked.begin() as connection:
            connection.execute(text(f"CREATE {word} {schema}"))
            if kind == "redshift":
                for statement in redshift_functions(schema):
                    connection.exec_driver_sql(statement)
    except OperationalError as error:
        pytest.skip(f"no server answers: {error.orig}")
    if kind in {"databricks", "redshift"}:
        own = url.update_query_dict({"schema": schema})
    else:
        own = url if kind == "postgresql" else url.set(database=_place(url, schema))
    found = Server(own.render_as_string(hide_password=False), schema)
    yield found
    found.engine.dispose()
    with asked.begin() as connection:
        cascade = "CASCADE" if kind in _CASCADING else ""
        connection.execute(text(f"DROP {word} {schema} {cascade}"))
        if kind == "redshift":
            connection.execute(text(f"DROP {word} {own_schema(schema)} {cascade}"))
    asked.dispose()


def _place(url: URL, schema: str) -> str:
    """Return what the URL of a test's schema names as its database."""
    if url.get_backend_name() in {"snowflake", "trino"}:
        return f"{(url.database or '').partition('/')[0]}/{schema}"
    return schema


@cache
def _clickhouse() -> str:
    """Return the URL of a ClickHouse server, if need be of its engine in a process of its own."""
    if "HYPERJOIN_CLICKHOUSE" in os.environ:
        return os.environ["HYPERJOIN_CLICKHOUSE"]
    for package in ("clickhouse_sqlalchemy", "chdb"):
        if find_spec(package) is None:
            pytest.skip(f"ClickHouse needs the package {package}")
    return f"clickhouse://default:@127.0.0.1:{_start_engine('clickhouse')}/default"


@cache
def _databricks() -> str:
    """Return the URL of a local Spark, which stands for Databricks, in a process of its own."""
    pytest.importorskip("databricks.sqlalchemy")
    import_module("engines.databricks_driver")
    return f"databricks+local://127.0.0.1:{_start_engine('databricks')}?catalog=spark_catalog"


@cache
def _snowflake() -> str:
    """Return the URL of a Snowflake account, or of its emulator in a process of its own."""
    if find_spec("snowflake") is None:
        pytest.skip("Snowflake needs the package snowflake_sqlalchemy")
    if "HYPERJOIN_SNOWFLAKE" in os.environ:
        return os.environ["HYPERJOIN_SNOWFLAKE"]
    python = os.environ.get("HYPERJOIN_FAKESNOW", f"{sys.prefix}/fakesnow/bin/python")
    if not Path(python).is_file():
        pytest.skip("Snowflake needs its emulator: make fakesnow")
    port = _start(python, "-I", Path(__file__).with_name("snowflake_engine.py"))
    options = "account=fakesnow&protocol=http"
    return f"snowflake://tester:none@127.0.0.1:{port}/shop/public?{options}"


@cache
def _redshift() -> str:
    """Return the URL of the PostgreSQL server, which stands for Redshift behind its dialect."""
    pytest.importorskip("sqlalchemy_redshift")
    import_module("engines.redshift_driver")
    url = make_url(SERVERS["postgresql"]).set(drivername="redshift+local")
    return url.render_as_string(hide_password=False)


@cache
def _trino() -> str:
    """Return the URL of a Trino server, or of a translator to DuckDB in a process of its own."""
    if "HYPERJOIN_TRINO" in os.environ:
        return os.environ["HYPERJOIN_TRINO"]
    port = _start(sys.executable, Path(__file__).with_name("trino_engine.py"))
    return f"trino://tester@127.0.0.1:{port}/memory"


def _start_engine(kind: str) -> int:
    """Start an engine with a folder for its data, and return its port."""
    folder = mkdtemp(prefix=f"{kind}-")
    atexit.register(rmtree, folder, ignore_errors=True)
    return _start(sys.executable, Path(__file__).with_name(f"{kind}_engine.py"), folder)


def _start(*command: str | Path) -> int:
    """Start a server that prints its port and ends with its standard input, as these tests do."""
    server = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    atexit.register(server.communicate)
    assert server.stdout
    return int(server.stdout.readline())


_ENGINES = {
    "clickhouse": _clickhouse,
    "databricks": _databricks,
    "redshift": _redshift,
    "snowflake": _snowflake,
    "trino": _trino,
}


def settle(server: Server) -> None:
    time.sleep(_SETTLES[server.kind])


def states(server: Server, database: Database | None = None) -> dict[str, str]:
    """Map each table and view to its state, which a run compares to notice changes."""
    engine = open_engine("connections[0]", database or server.database())
    listed = list_relations(
        engine, "connections[0]", wanted=lambda schema: schema == server.schema, views=True
    )
    engine.dispose()
    return {one.name: one.state for one in listed}


def alike(
    one: Callable[[], dict[str, str]], other: Callable[[], dict[str, str]], tries: int = 20
) -> bool:
    """Call both functions several times, and return whether their results were ever equal.

    Others may write to the same server meanwhile.
    """
    return any(one() == other() for _ in range(tries))
