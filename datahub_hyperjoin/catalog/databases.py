"""List the tables of databases, of SQLite and DuckDB files, and the keys that they declare."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import quote

from pydantic import SecretStr

from datahub_hyperjoin.catalog.errors import NoTablesError
from datahub_hyperjoin.catalog.files import state_of
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.catalog_facts import DeclaredKeys, ForeignKey
from datahub_hyperjoin.errors import CatalogError, TableError
from datahub_hyperjoin.locations import DEFAULT_DIALECT, Database, File, ListedFile, Relation
from datahub_hyperjoin.progress import Count, Warn
from datahub_hyperjoin.spark.databases.engines import open_engine
from datahub_hyperjoin.spark.errors import UnreachableDatabaseError
from datahub_hyperjoin.spark.files.duckdb_tables import DuckDbFile
from datahub_hyperjoin.tables import ColumnId, Table, TableId
from datahub_hyperjoin.wording import name_some

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from datahub_hyperjoin.spark.databases.listing import (
        KeyConstraints,
        ListedRelation,
    )
    from datahub_hyperjoin.spark.databases.system import RelationName


def scan_database(connection: str, database: Database, selection: TableSelection) -> list[Table]:
    """List the tables and views of a database."""
    # SQLAlchemy takes a quarter of a second to import, and few lakes have databases.
    from datahub_hyperjoin.spark.databases.listing import (  # noqa: PLC0415
        list_relations,
        without_parts,
    )
    from datahub_hyperjoin.spark.databases.system import system_of  # noqa: PLC0415

    with _connected(connection, database) as engine:
        relations = list_relations(
            engine, connection, wanted=selection.schemas.allowed, views=selection.views
        )
    chosen = (each for each in relations if selection.tables.allowed(each.path))
    tables = [
        selection.table(
            database=system_of(engine.dialect).database_name(engine.url),
            schema=relation.schema,
            table=relation.name,
            title=relation.name,
            location=_relation(database, connection, relation),
            size=relation.size,
            state=relation.state,
        )
        for relation in without_parts(chosen)
    ]
    if not tables:
        raise NoTablesError.in_database(connection, seen=len(relations))
    return tables


def _relation(database: Database, connection: str, listed: "ListedRelation") -> Relation:
    return Relation(
        database=database,
        connection=connection,
        schema=listed.schema,
        name=listed.name,
        is_view=listed.is_view,
    )


@contextmanager
def _connected(connection: str, database: Database) -> "Iterator[Engine]":
    engine = open_engine(connection, database)
    try:
        yield engine
    finally:
        engine.dispose()


_SQLITE_MAGIC = b"SQLite format 3\0"
_MAIN = "main"
"""The schema whose name is omitted from the names of its tables."""

_ListedTable = tuple[str, Relation | File, str]
"""Name, location and state of a table."""


def is_sqlite(path: Path) -> bool:
    """Return whether a file starts with the SQLite header."""
    with path.open("rb") as file:
        return file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC


def is_duckdb(path: Path) -> bool:
    """Return whether a file starts with the DuckDB header."""
    return DuckDbFile().recognises(path, DEFAULT_DIALECT)


def is_database_file(file: ListedFile) -> bool:
    """Return whether a file has the extension and header of a SQLite or DuckDB database."""
    if PurePosixPath(file.path).suffix.lower() not in DuckDbFile.doubtful_suffixes:
        return False
    path = Path(file.uri)
    return is_sqlite(path) or is_duckdb(path)


def tables_of_database_files(
    files: Sequence[ListedFile], selection: TableSelection, *, warn: Warn, count: Count
) -> list[Table]:
    """List the tables and views of SQLite and DuckDB files."""
    if not files:
        return []
    from datahub.configuration.common import AllowDenyPattern  # noqa: PLC0415 (files need none)

    denied = AllowDenyPattern(deny=[*selection.tables.deny])
    tables: list[Table] = []
    for file in files:
        # Files that are left out are not opened.
        if not denied.allowed(file.path):
            continue
        try:
            tables += _tables_of_database(file, selection)
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


def _tables_of_database(file: ListedFile, selection: TableSelection) -> Iterator[Table]:
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


def _in_sqlite(file: ListedFile, selection: TableSelection) -> Iterator[_ListedTable]:
    from sqlalchemy import URL  # noqa: PLC0415 (as above)

    from datahub_hyperjoin.spark.databases.listing import list_relations  # noqa: PLC0415

    query = {"mode": "ro", "uri": "true"}
    url = URL.create("sqlite", database=f"file:{quote(file.uri)}", query=query)
    database = Database(url=SecretStr(url.render_as_string(hide_password=False)))
    with _connected(file.path, database) as engine:
        relations = list_relations(engine, file.path, wanted=lambda _: True, views=selection.views)
    for each in relations:
        yield each.name, _relation(database, file.path, each), each.state


def _in_duckdb(file: ListedFile, selection: TableSelection) -> Iterator[_ListedTable]:
    path = Path(file.uri)
    tables = {*DuckDbFile().list_members(path, views=False)}
    for schema, name in DuckDbFile().list_members(path, views=selection.views):
        member = (schema, name)
        location = File(
            uri=file.uri, format=DuckDbFile.name, member=member, is_view=member not in tables
        )
        yield name if schema == _MAIN else f"{schema}.{name}", location, state_of([file])


def read_database_keys(tables: Sequence[Table], warn: Warn) -> DeclaredKeys:
    """Read the primary keys, unique constraints and foreign keys of tables in databases."""
    keys = DeclaredKeys()
    hidden: list[str] = []
    for (database, connection), names in _by_database(tables).items():
        try:
            listed = _list(database, connection, names, hidden)
        except UnreachableDatabaseError as error:
            warn("Declared keys not read", "Joins are found without them", str(error))
            continue
        for relation, constraints in listed.items():
            keys = keys.united(_keys_of(names[relation], constraints, names))
    if hidden:
        warn(
            "Declared keys of tables not read",
            "Their joins are found without them. Let the connection's user select from the whole "
            "table, not only from some columns",
            name_some(hidden),
        )
    return keys


def _by_database(
    tables: Sequence[Table],
) -> "dict[tuple[Database, str], dict[RelationName, TableId]]":
    grouped: dict[tuple[Database, str], dict[RelationName, TableId]] = defaultdict(dict)
    for table in tables:
        if isinstance(table.location, Relation):
            location = table.location
            name = (location.schema, location.name)
            grouped[location.database, location.connection][name] = table.id
    return grouped


def _list(
    database: Database, connection: str, names: "Mapping[RelationName, TableId]", hidden: list[str]
) -> "dict[RelationName, KeyConstraints]":
    from datahub_hyperjoin.spark.databases.listing import list_keys  # noqa: PLC0415 (as above)

    with _connected(connection, database) as engine:
        return list_keys(engine, connection, names, lambda name: hidden.append(str(names[name])))


def _keys_of(
    table: TableId, constraints: "KeyConstraints", names: "Mapping[RelationName, TableId]"
) -> DeclaredKeys:
    unique = (tuple(ColumnId(table, path) for path in key) for key in constraints.unique)
    foreign = []
    for key in constraints.foreign:
        target = names.get(key.relation)
        if target and len(key.columns) == len(key.referenced):
            ends = zip(key.columns, key.referenced, strict=True)
            pairs = tuple((ColumnId(table, one), ColumnId(target, other)) for one, other in ends)
            foreign.append(ForeignKey(name=key.name, pairs=pairs))
    return DeclaredKeys.of(unique, foreign)
