"""Read tables of DuckDB files."""

import re
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from datahub_hyperjoin.arrow_bytes import MOST_KEY_BYTES
from datahub_hyperjoin.spark.columns import (
    Column,
    RowEstimate,
    TableStream,
    choose_columns,
    readable_paths,
)
from datahub_hyperjoin.spark.errors import UnreadableTableError
from datahub_hyperjoin.spark.files.nested import flatten, leaf_columns, top_level_fields

if TYPE_CHECKING:
    import duckdb

_READ_AS_TEXT = re.compile(r"HUGEINT|UHUGEINT|BIGNUM|VARINT|INTERVAL|TIME( .*|_.*)?|BIT|VARIANT")
"""DuckDB types whose values Arrow cannot convert to text, or converts differently from DuckDB."""


def list_duckdb_tables(path: Path, *, views: bool = True) -> list[tuple[str, str]]:
    """List the tables and views of a DuckDB file."""
    with _opened(path) as connection:
        return connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables "
            "WHERE table_catalog = current_database() AND (? OR table_type <> 'VIEW') ORDER BY ALL",
            [views],
        ).fetchall()


def read_duckdb_table(
    path: Path, name: Sequence[str], paths: Collection[str] | None
) -> TableStream:
    """Open a table or view of a DuckDB file, to read the columns in `paths`.

    Views that read other files are not followed.

    Args:
        paths: Paths of the columns to read; all if None.

    Returns:
        The table being read; members of structs are columns, as in `address.city`.
    """
    table = ".".join(map(_quoted, name))
    with _opened(path) as connection:
        described = connection.execute(f"DESCRIBE FROM {table}").fetchall()
        fields = {str(row[0]): _expression(str(row[0]), str(row[1])) for row in described}
        selected = ", ".join(fields.values())
        schema = _rows(connection, f"SELECT {selected} FROM {table} LIMIT 0").schema  # noqa: S608
        rows = connection.execute(
            "SELECT estimated_size FROM duckdb_tables() WHERE (schema_name, table_name) = (?, ?)",
            [*name],
        ).fetchone()
    columns, notes = choose_columns(leaf_columns(schema), paths)
    # Without a comparable column, one field is read to count the rows.
    needed = top_level_fields(schema, readable_paths(columns)) or schema.names[:1]
    query = f"SELECT {', '.join(fields[field] for field in needed)} FROM {table}"  # noqa: S608
    return TableStream(
        columns, _batches(path, query, columns), notes, RowEstimate(rows[0] if rows else 0)
    )


def _batches(
    path: Path, query: str, columns: Sequence[Column]
) -> Generator[pa.RecordBatch, None, None]:
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
def _opened(path: Path) -> Iterator["duckdb.DuckDBPyConnection"]:
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
