"""List the tables of SQLite and DuckDB files."""

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from datahub.configuration.common import AllowDenyPattern
from pydantic import SecretStr

from datahub_hyperjoin.catalog.files import state_of
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.errors import CatalogError, TableError
from datahub_hyperjoin.file_formats import FileFormat
from datahub_hyperjoin.locations import Database, File, ListedFile, Relation
from datahub_hyperjoin.progress import Count, Warn
from datahub_hyperjoin.spark.databases.engines import open_engine
from datahub_hyperjoin.spark.files.duckdb_tables import list_duckdb_tables
from datahub_hyperjoin.tables import Table

_EXTENSIONS = {".sqlite", ".sqlite3", ".db", ".db3", ".duckdb", ".ddb"}
_MAGIC_BYTES = 16
_SQLITE_MAGIC, _DUCKDB_MAGIC = b"SQLite format 3\0", b"DUCK"
_DUCKDB_MAGIC_AT = 8
_MAIN = "main"
"""The schema whose name is omitted from the names of its tables."""

_Listed = tuple[str, Relation | File, str]
"""Name, location and state of a table."""


def is_sqlite(path: Path) -> bool:
    """Return whether a file starts with the SQLite header."""
    return _head(path) == _SQLITE_MAGIC


def is_duckdb(path: Path) -> bool:
    """Return whether a file starts with the DuckDB header."""
    return _head(path)[_DUCKDB_MAGIC_AT:].startswith(_DUCKDB_MAGIC)


def is_database_file(file: ListedFile) -> bool:
    """Return whether a file has the extension and header of a SQLite or DuckDB database."""
    if PurePosixPath(file.path).suffix.lower() not in _EXTENSIONS:
        return False
    path = Path(file.uri)
    return is_sqlite(path) or is_duckdb(path)


def tables_of_database_files(
    files: Sequence[ListedFile], selection: TableSelection, *, warn: Warn, count: Count
) -> list[Table]:
    """List the tables and views of SQLite and DuckDB files.

    The name of a table is the path of the file and the name of the table, as in `shop.db/orders`.
    Databases are opened for reading only.
    """
    denied = AllowDenyPattern(deny=selection.tables.deny)
    tables: list[Table] = []
    for file in files:
        # Files that are left out are not opened.
        if not denied.allowed(file.path):
            continue
        try:
            tables += _tables_of(file, selection)
        except (CatalogError, TableError):
            # The message may contain values, and would tell to correct a connection.
            count("files_not_read", 1)
            warn(
                "Database file not read",
                "Its tables get no suggestions. Close the program that writes to it, repair it, or "
                "leave it out with `tables.deny`",
                f"{file.path} cannot be opened",
            )
    return tables


def _tables_of(file: ListedFile, selection: TableSelection) -> Iterator[Table]:
    list_tables = _in_sqlite if is_sqlite(Path(file.uri)) else _in_duckdb
    listed = [*list_tables(file, selection)]
    for name, location, state in listed:
        path = f"{file.path}/{name}"
        if selection.tables.allowed(path):
            yield selection.table(
                folder="",
                table=path,
                title=location.name if isinstance(location, Relation) else location.member[-1],
                location=location,
                # Each table counts as an equal share of its file.
                size=file.size // len(listed),
                state=state,
            )


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_MAGIC_BYTES)


def _in_sqlite(file: ListedFile, selection: TableSelection) -> Iterator[_Listed]:
    from sqlalchemy import URL  # noqa: PLC0415 (few lakes have such files)

    from datahub_hyperjoin.spark.databases.listing import list_relations  # noqa: PLC0415

    query = {"mode": "ro", "uri": "true"}
    url = URL.create("sqlite", database=f"file:{quote(file.uri)}", query=query)
    database = Database(url=SecretStr(url.render_as_string(hide_password=False)))
    engine = open_engine(file.path, database)
    try:
        relations = list_relations(engine, file.path, wanted=lambda _: True, views=selection.views)
    finally:
        engine.dispose()
    for each in relations:
        location = Relation(
            database=database,
            connection=file.path,
            schema=each.schema,
            name=each.name,
            is_view=each.is_view,
        )
        yield each.name, location, each.state


def _in_duckdb(file: ListedFile, selection: TableSelection) -> Iterator[_Listed]:
    for schema, name in list_duckdb_tables(Path(file.uri), views=selection.views):
        location = File(uri=file.uri, format=FileFormat.DUCKDB, member=(schema, name))
        yield name if schema == _MAIN else f"{schema}.{name}", location, state_of([file])
