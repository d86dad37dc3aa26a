"""Test on real databases that every changed table is recognised as changed."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from sqlalchemy import text

from engines.servers import KINDS, Server, serving, settle, states

STEADY = "STATS_AUTO_RECALC = 0"
"""Table option that keeps MariaDB from recomputing statistics some time after a write."""

COLUMNS = "(id INTEGER PRIMARY KEY, city VARCHAR(20))"
PARTS = "PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (100))"
ROWS = "(1, 'Oslo'), (2, 'Rome'), (3, 'Bari')"
CHANGES = {
    "insert": ["INSERT INTO {0} VALUES (4, 'Bern')"],
    "update": ["UPDATE {0} SET city = 'Lima' WHERE id = 1"],
    "delete": ["DELETE FROM {0} WHERE id = 3"],
    "back and forth": [
        "UPDATE {0} SET city = 'Lima' WHERE id = 1",
        "UPDATE {0} SET city = 'Oslo' WHERE id = 1",
    ],
    "add": ["ALTER TABLE {0} ADD COLUMN rank INTEGER DEFAULT 7"],
    "rename": ["ALTER TABLE {0} RENAME COLUMN city TO town"],
    "anew": ["DROP TABLE {0}", f"CREATE TABLE {{0}} {COLUMNS}", f"INSERT INTO {{0}} VALUES {ROWS}"],
    "swap": ["ALTER TABLE {0} RENAME TO {0}_old", "ALTER TABLE {0}_twin RENAME TO {0}"],
}
"""For each kind of change, the statements that make this change in a table."""

ON_SERVERS = {
    "truncate": ["TRUNCATE TABLE {0}"],
    "refill": ["TRUNCATE TABLE {0}", f"INSERT INTO {{0}} VALUES {ROWS}"],
    "parent": ["UPDATE {0}_parent SET id = 9 WHERE id = 1"],
}
IN_POSTGRESQL = {
    "refresh": ["REFRESH MATERIALIZED VIEW {0}_copy"],
    "label": ["ALTER TYPE {0}_mood RENAME VALUE 'sad' TO 'blue'"],
    "elsewhere": ["CREATE TABLE {0}_elsewhere (id INTEGER)"],
}
IN_MARIADB = {
    "exchange": [
        "SET autocommit = 1",
        "ALTER TABLE {0}_parts EXCHANGE PARTITION p0 WITH TABLE {0}",
    ],
    "copy": ["ALTER TABLE {0} FORCE"],
    "analyzed": ["UPDATE {0} SET city = 'Lima' WHERE id = 1", "ANALYZE TABLE {0}"],
}
NEEDS = {
    "swap": [f"CREATE TABLE {{0}}_twin {COLUMNS}"],
    "parent": [
        "CREATE TABLE {0}_parent (id INTEGER PRIMARY KEY)",
        "INSERT INTO {0}_parent VALUES (1), (2), (3)",
        "ALTER TABLE {0} ADD FOREIGN KEY (id) REFERENCES {0}_parent (id) ON UPDATE CASCADE",
    ],
    "refresh": ["CREATE MATERIALIZED VIEW {0}_copy AS SELECT * FROM {0}"],
    "label": ["CREATE TYPE {0}_mood AS ENUM ('sad', 'happy')"],
    "exchange": [f"CREATE TABLE {{0}}_parts {COLUMNS} {PARTS}"],
}
"""For each change, the SQL statements that prepare it before the table has rows."""

FILLED = {
    "swap": ["INSERT INTO {0}_twin VALUES (5, 'Riga')"],
    "exchange": ["INSERT INTO {0}_parts VALUES (8, 'Kiel')"],
    "analyzed": ["ANALYZE TABLE {0}"],  # which has the server count the rows written from 0
}
"""Statements that run right after the table is filled, so that all of them get one timestamp."""


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with serving(request.param, tmp_path) as running:
        yield running


POSTGRESQL, MARIADB, SQLITE = (
    pytest.mark.parametrize("server", [kind], indirect=True) for kind in KINDS
)


def make(server: Server, name: str, change: str = "") -> None:
    statements = [
        f"CREATE TABLE {{0}} {COLUMNS}",
        *NEEDS.get(change, []),
        f"INSERT INTO {{0}} VALUES {ROWS}",
        *FILLED.get(change, []),
    ]
    server.run(*(statement.format(name) for statement in statements))


@POSTGRESQL
def test_any_write_to_a_postgresql_server_changes_the_state(server: Server) -> None:
    changes = {**CHANGES, **ON_SERVERS, **IN_POSTGRESQL}
    for number, (change, statements) in enumerate(changes.items()):
        name = f"t{number}"
        make(server, name, change)
        before = states(server)
        server.run(*(statement.format(name) for statement in statements))
        assert before[name] not in {"", states(server)[name]}, change
        if change == "refresh":
            assert before[f"{name}_copy"] == before[name]


@MARIADB
def test_a_changed_mariadb_table_has_another_state(server: Server) -> None:
    changes = {**CHANGES, **ON_SERVERS, **IN_MARIADB}
    names = {change: f"t{number}" for number, change in enumerate(changes)}
    for change, name in names.items():
        make(server, name, change)
    server.run(f"CREATE TABLE untouched {COLUMNS} {STEADY}", f"INSERT INTO untouched VALUES {ROWS}")
    settle(server)
    before = states(server)
    for change, name in names.items():
        server.run(*(statement.format(name) for statement in changes[change]))
    at_once = states(server)
    settle(server)
    after = states(server)
    for change, name in names.items():
        assert before[name] not in {"", at_once[name], after[name]}, change
    assert before["untouched"] == at_once["untouched"] == after["untouched"] != ""
    assert before[f"{names['exchange']}_parts"] == ""


@SQLITE
def test_a_changed_sqlite_file_has_another_state_even_with_an_old_timestamp(
    server: Server, tmp_path: Path
) -> None:
    make(server, "first")
    file = tmp_path / "shop.db"
    long_ago = file.stat().st_mtime_ns - 10**10
    for number, (change, statements) in enumerate(CHANGES.items()):
        name = f"t{number}"
        make(server, name, change)
        os.utime(file, ns=(long_ago, long_ago))
        before = states(server)[name]
        server.run(*(statement.format(name) for statement in statements))
        assert states(server)[name] == "", change
        os.utime(file, ns=(long_ago, long_ago))
        after = states(server)[name]
        assert before != after, change
        assert "" not in {before, after}, change


@POSTGRESQL
def test_the_end_of_an_open_transaction_changes_the_state(server: Server) -> None:
    make(server, "cities")
    for end in ("ROLLBACK", "COMMIT"):
        with server.engine.connect() as writer:
            writer.execute(text("INSERT INTO cities VALUES (9, 'Wien')"))
            before = states(server)["cities"]
            writer.execute(text(end))
            assert before not in {"", states(server)["cities"]}


@POSTGRESQL
def test_a_commit_within_a_running_procedure_changes_the_state(server: Server) -> None:
    make(server, "cities")
    before = states(server)["cities"]
    goes_on = "DO $$ BEGIN INSERT INTO {} VALUES (9, 'x'); COMMIT; PERFORM pg_sleep(3); END $$"
    connection = server.engine.raw_connection()
    connection.driver_connection.autocommit = True  # type: ignore[union-attr]
    caller = Thread(target=connection.cursor().execute, args=[goes_on.format("cities")])
    caller.start()
    time.sleep(1.5)
    with server.engine.connect() as reader:
        assert reader.execute(text("SELECT count(*) FROM cities")).scalar_one() == 4
    after = states(server)["cities"]
    assert caller.is_alive()
    assert before not in {"", after}
    caller.join()
    connection.close()


@MARIADB
def test_a_time_does_not_count_while_an_older_transaction_is_open(server: Server) -> None:
    server.run(f"CREATE TABLE cities {COLUMNS} {STEADY}")
    with server.engine.connect() as writer, server.engine.connect() as reader:
        reader.execute(text("START TRANSACTION READ ONLY"))
        reader.execute(text("SELECT * FROM cities"))
        time.sleep(1 - time.time() % 1)
        writer.execute(text("INSERT INTO cities VALUES (8, 'Kiel')"))
        server.run("INSERT INTO cities VALUES (9, 'Wien')")
        settle(server)
        assert states(server)["cities"] == ""
        writer.commit()
        # Otherwise this would be the state of a table with one row less.
        after = states(server)["cities"]
        assert after != ""
        writer.execute(text("SELECT * FROM cities"))
        assert states(server)["cities"] == after
