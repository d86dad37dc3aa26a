"""Read SQLite databases and the foreign keys that they declare."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from benchmarks.school.database import Database, Reference
from datahub_hyperjoin.evaluate.labelled_lake import ColumnName

_ROWS = 20_000
"""Maximum number of rows that are read from a table."""


def read_sqlite(name: str, content: bytes) -> Database:
    """Read a database from the content of its file.

    Args:
        name: Name of the database.
        content: The file.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "database.sqlite"
        path.write_bytes(content)
        with closing(sqlite3.connect(path)) as connection:
            return read_connection(name, connection)


def read_connection(name: str, connection: sqlite3.Connection) -> Database:
    """Read all tables of an open database, and its declared foreign keys.

    Args:
        name: Name of the database.
        connection: The open database.
    """
    connection.text_factory = lambda cell: cell.decode("utf-8", "replace")
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    names = sorted(row[0] for row in connection.execute(query))
    tables = {table: _read_rows(connection, table) for table in names}
    spelt = {
        ColumnName(table.lower(), str(column).lower()): ColumnName(table, str(column))
        for table, frame in tables.items()
        for column in frame
    }
    declared = {
        (width, Reference(spelt.get(one.origin, one.origin), spelt.get(one.target, one.target)))
        for table in names
        for width, one in _references(connection, table)
    }
    whole, parts = (
        tuple(sorted(one for width, one in declared if (width > 1) == wide))
        for wide in (False, True)
    )
    return Database(name, tables, whole, parts).without_dangling_references()


def _read_rows(connection: sqlite3.Connection, table: str) -> pd.DataFrame:
    cursor = connection.execute(f"SELECT * FROM {_quoted(table)} LIMIT {_ROWS}")
    columns = [column[0] for column in cursor.description]
    rows = [[_text(cell) for cell in row] for row in cursor]
    return pd.DataFrame(rows, columns=columns, dtype=str)


def _references(connection: sqlite3.Connection, table: str) -> Iterator[tuple[int, Reference]]:
    """Yield the columns of the foreign keys, each with the number of columns of its key.

    Names are in lower case, because SQLite ignores case.
    """
    listed = list(connection.execute(f"PRAGMA foreign_key_list({_quoted(table)})"))
    widths = Counter(row[0] for row in listed)
    for number, at, target, origin, named, *_ in listed:
        keys = [named] if named else _primary_key(connection, target)[at:]
        if keys:
            yield (
                widths[number],
                Reference(
                    ColumnName(table.lower(), origin.lower()),
                    ColumnName(target.lower(), keys[0].lower()),
                ),
            )


def _primary_key(connection: sqlite3.Connection, table: str) -> list[str]:
    columns = connection.execute(f"PRAGMA table_info({_quoted(table)})")
    places = sorted((column[5], column[1]) for column in columns if column[5])
    return [name for _, name in places]


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _text(cell: object) -> str:
    return "" if cell is None or isinstance(cell, bytes) else str(cell).strip()
