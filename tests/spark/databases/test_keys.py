"""Test that keys declared in real databases are read."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from datahub_hyperjoin.locations import Database
from datahub_hyperjoin.spark.databases.engines import open_engine
from datahub_hyperjoin.spark.databases.listing import (
    ForeignKeyConstraint,
    KeyConstraints,
    list_keys,
)
from datahub_hyperjoin.spark.errors import UnreachableDatabaseError
from engines.servers import KINDS, Server, serving


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with serving(request.param, tmp_path) as running:
        yield running


def keys_of(server: Server, *names: str) -> dict[str, KeyConstraints]:
    engine = open_engine("connections[0]", server.database())
    listed = list_keys(engine, "connections[0]", [(server.schema, name) for name in names])
    engine.dispose()
    assert {schema for schema, _ in listed} <= {server.schema}
    return {name: keys for (_, name), keys in listed.items()}


def test_keys_of_one_and_of_several_columns_are_read(server: Server) -> None:
    server.run(
        "CREATE TABLE orders (tenant INTEGER, number INTEGER, code VARCHAR(9) UNIQUE, "
        "PRIMARY KEY (tenant, number))",
        "CREATE TABLE people (id INTEGER PRIMARY KEY, manager INTEGER, "
        "CONSTRAINT fk_manager FOREIGN KEY (manager) REFERENCES people (id))",
        "CREATE TABLE order_lines (order_no INTEGER, owner INTEGER, line INTEGER, "
        "CONSTRAINT fk_order FOREIGN KEY (owner, order_no) REFERENCES orders (tenant, number))",
        "CREATE TABLE memos (memo VARCHAR(9))",
    )
    found = keys_of(server, "orders", "people", "order_lines", "memos")
    assert found["orders"].unique == (("tenant", "number"), ("code",))
    assert found["people"] == KeyConstraints(
        unique=(("id",),),
        foreign=(
            ForeignKeyConstraint(
                name="fk_manager",
                columns=("manager",),
                relation=(server.schema, "people"),
                referenced=("id",),
            ),
        ),
    )
    assert found["order_lines"].foreign == (
        ForeignKeyConstraint(
            name="fk_order",
            columns=("owner", "order_no"),
            relation=(server.schema, "orders"),
            referenced=("tenant", "number"),
        ),
    )
    assert found["order_lines"].unique == ()
    assert "memos" not in found


def test_only_the_wanted_tables_are_read(server: Server) -> None:
    server.run(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY)",
        "CREATE TABLE people (id INTEGER PRIMARY KEY)",
    )
    assert keys_of(server, "people") == {"people": KeyConstraints(unique=(("id",),))}
    assert keys_of(server) == {}


def test_unusual_names_are_read_as_they_are(server: Server) -> None:
    # SQLAlchemy does not recognise a foreign key to a MariaDB table with a backquote in its name.
    odd = 'a "b" %s' if server.kind == "mariadb" else 'a "b" `c` %s'
    table, column = server.quote(odd), server.quote(f"{odd} id")
    server.run(
        f"CREATE TABLE {table} ({column} INTEGER, PRIMARY KEY ({column}))",
        "CREATE TABLE order_lines (parent INTEGER, "
        f"FOREIGN KEY (parent) REFERENCES {table} ({column}))",
    )
    found = keys_of(server, odd, "order_lines")
    assert found[odd].unique == ((f"{odd} id",),)
    [key] = found["order_lines"].foreign
    assert (key.columns, key.relation, key.referenced) == (
        ("parent",),
        (server.schema, odd),
        (f"{odd} id",),
    )


def test_an_index_of_some_rows_or_of_an_expression_makes_nothing_unique(server: Server) -> None:
    server.run("CREATE TABLE people (id INTEGER, mail VARCHAR(20))")
    server.run("CREATE UNIQUE INDEX by_id ON people (id)")
    if server.kind != "mariadb":
        server.run("CREATE UNIQUE INDEX by_mail ON people (mail) WHERE id > 3")
    if server.kind == "postgresql":
        server.run("CREATE UNIQUE INDEX by_lower ON people (lower(mail), id)")
    assert keys_of(server, "people") == {"people": KeyConstraints(unique=(("id",),))}


@pytest.mark.parametrize("server", ["postgresql"], indirect=True)
def test_a_key_to_a_table_on_the_search_path_names_its_schema(server: Server) -> None:
    name = f"target_{server.schema}"
    server.run(
        f"CREATE TABLE public.{name} (id INTEGER PRIMARY KEY)",
        f"CREATE TABLE order_lines (target INTEGER REFERENCES public.{name})",
    )
    try:
        [key] = keys_of(server, "order_lines")["order_lines"].foreign
    finally:
        server.run("DROP TABLE order_lines", f"DROP TABLE public.{name}")
    assert key.relation == ("public", name)


def test_an_unreachable_database_is_an_error() -> None:
    database = Database(url=SecretStr("postgresql+psycopg2://reader:s3cret@127.0.0.1:1/shop"))
    engine = open_engine("connections[2]", database)
    with pytest.raises(UnreachableDatabaseError, match=r"connections\[2\]") as caught:
        list_keys(engine, "connections[2]", [("public", "orders")])
    assert "s3cret" not in str(caught.value)
