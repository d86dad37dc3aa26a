"""Give each test its own schema in a local database server or in SQLite."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine, create_engine, make_url, text
from sqlalchemy.exc import OperationalError

from datahub_hyperjoin.locations import Compute, Database, Relation
from datahub_hyperjoin.spark.databases.engines import open_engine
from datahub_hyperjoin.spark.databases.listing import list_relations
from datahub_hyperjoin.tables import Table, TableId

KINDS = ("postgresql", "mariadb", "sqlite")
_SETTLES = {"postgresql": 0.0, "mariadb": 3.2, "sqlite": 2.2}
"""Seconds after a write until a database can reliably tell whether there was another write."""

_SERVERS = {
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
        path = {"options": f"-csearch_path={schema}"} if self.kind == "postgresql" else {}
        # Tested before each use, because the server may have been restarted.
        self.engine: Engine = create_engine(url, connect_args=path, pool_pre_ping=True)

    def run(self, *statements: str) -> None:
        """Execute statements unchanged.

        Without parameters, drivers do not interpret `%`.
        """
        connection = self.engine.raw_connection()
        for statement in statements:
            connection.cursor().execute(statement)
        connection.commit()
        connection.close()

    def quote(self, name: str) -> str:
        mark = "`" if self.kind == "mariadb" else '"'
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
    url, schema = make_url(at or _SERVERS[kind]), f"hyperjoin_{uuid4().hex[:8]}"
    asked = create_engine(url, pool_pre_ping=True)
    try:
        with asked.begin() as connection:
            connection.execute(text(f"CREATE SCHEMA {schema}"))
    except OperationalError as error:
        pytest.skip(f"no server answers: {error.orig}")
    own = url if kind == "postgresql" else url.set(database=schema)
    found = Server(own.render_as_string(hide_password=False), schema)
    yield found
    found.engine.dispose()
    with asked.begin() as connection:
        cascade = "CASCADE" if kind == "postgresql" else ""
        connection.execute(text(f"DROP SCHEMA {schema} {cascade}"))
    asked.dispose()


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
