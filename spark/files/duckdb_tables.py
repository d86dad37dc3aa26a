"""Read tables of DuckDB files."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from datahub_hyperjoin.arrow_bytes import MOST_KEY_BYTES
from datahub_hyperjoin.locations import Dialect, File
from datahub_hyperjoin.spark.columns import (
    Batches,
    Column,
    Paths,
    RowEstimate,
    TableStream,
    choose_columns,
    readable_paths,
)
from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.spark.files.formats import FileFormat
from datahub_hyperjoin.spark.files.nested import flatten, leaf_columns, top_level_fields
from datahub_hyperjoin.spark.files.stored import DataPath, open_in_order, path_of

if TYPE_CHECKING:
    import duckdb

_READ_AS_TEXT = re.compile(r"HUGEINT|UHUGEINT|BIGNUM|VARINT|INTERVAL|TIME( .*|_.*)?|BIT|VARIANT")
"""DuckDB types whose values Arrow cannot convert to text, or converts differently from DuckDB."""

_MAGIC, _MAGIC_AT = b"DUCK", 8


class DuckDbFile(FileFormat):
    """A DuckDB database, whose tables and views are members. Views that read other files fail."""

    name = "duckdb"
    title = "tables of DuckDB files in a folder"
    doubtful_suffixes = (
        *(".sqlite", ".sqlite3", ".db", ".db3", ".s3db", ".sl3", ".gpkg", ".dat", ""),
        *(".duckdb", ".ddb"),
    )
    has_members = True

    def recognises(self, path: DataPath, dialect: Dialect) -> bool:
        """Return whether a file starts with the header of DuckDB."""
        del dialect
        with open_in_order(path) as file:
            return file.read(_MAGIC_AT + len(_MAGIC))[_MAGIC_AT:] == _MAGIC

    def list_members(self, path: DataPath, *, views: bool = True) -> list[tuple[str, ...]]:
        """List the schema and name of each table and view."""
        with _opened(path) as connection:
            return connection.execute(
                "SELECT table_schema, table_name FROM information_schema.tables "
                "WHERE table_catalog = current_database() AND (? OR table_type <> 'VIEW') "
                "ORDER BY ALL",
                [views],
            ).fetchall()

    def read(self, file: File, paths: Paths) -> TableStream:
        """Open a table or view; members of structs are columns, as in `address.city`."""
        return _read(path_of(file), file.member, paths)


def _read(path: DataPath, member: Sequence[str], paths: Paths) -> TableStream:
    table = ".".join(map(_quoted, member))
    with _opened(path) as connection:
        described = connection.execute(f"DESCRIBE FROM {table}").fetchall()
        fields = {str(row[0]): _expression(str(row[0]), str(row[1])) for row in described}
        selected = ", ".join(fields.values())
        schema = _rows(connection, f"SELECT {selected} FROM {table} LIMIT 0").schema  # noqa: S608
        rows = connection.execute(
            "SELECT estimated_size FROM duckdb_tables() WHERE (schema_name, table_name) = (?, ?)",
            [*member],
        ).fetchone()
    columns, notes = choose_columns(leaf_columns(schema), paths)
    # Without a comparable column, one field is read to count the rows.
    needed = top_level_fields(schema, readable_paths(columns)) or schema.names[:1]
    query = f"SELECT {', '.join(fields[field] for field in needed)} FROM {table}"  # noqa: S608
    return TableStream(
        columns, _batches(path, query, columns), notes, RowEstimate(rows[0] if rows else 0)
    )


def _batches(path: DataPath, query: str, columns: Sequence[Column]) -> Batches:
    names = readable_paths(columns)
    with _opened(path) as connection:
        for batch in _rows(connection, query):
            yield flatten(batch, names)


def _rows(connection: "duckdb.DuckDBPyConnection", query: str) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_stream(connection.sql(query))


def _expression(column: str, type_: str) -> str:
    name = _quoted(column)
    if type_ == "BLOB":  # images would be read in vain
        return f"CASE WHEN octet_length({name}) <= {MOST_KEY_BYTES} THEN {name} END AS {name}"
    return f"{name}::VARCHAR AS {name}" if _READ_AS_TEXT.fullmatch(type_) else name


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


@contextmanager
def _opened(path: DataPath) -> Iterator["duckdb.DuckDBPyConnection"]:
    import duckdb  # noqa: PLC0415 (few lakes have such files)

    try:
        with duckdb.connect(
            str(path),
            read_only=True,
            # A view must not read other files, nor the network.
            config={"enable_external_access": "false", "threads": 1},
        ) as connection:
            yield connection
    except duckdb.Error as error:
        # The message may contain values.
        reason = f"DuckDB reports a {type(error).__name__}"
        raise UnreadableTableError.because(reason) from None
