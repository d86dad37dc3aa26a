"""Read the keys that databases declare for the tables of a run."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from datahub_hyperjoin.catalog_facts import DeclaredKeys, ForeignKey
from datahub_hyperjoin.locations import Database, Relation
from datahub_hyperjoin.progress import Warn
from datahub_hyperjoin.spark.databases.engines import open_engine
from datahub_hyperjoin.spark.errors import UnreachableDatabaseError
from datahub_hyperjoin.tables import ColumnId, Table, TableId
from datahub_hyperjoin.wording import name_some

if TYPE_CHECKING:
    from datahub_hyperjoin.spark.databases.keys import (
        ForeignKeyConstraint,
        KeyConstraints,
        RelationName,
    )


def read_database_keys(tables: Sequence[Table], warn: Warn) -> DeclaredKeys:
    """Read the primary keys, unique constraints and foreign keys of tables in databases.

    Args:
        warn: Receives databases that do not tell their keys.
    """
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
    database: Database,
    connection: str,
    names: "Mapping[RelationName, TableId]",
    hidden: list[str],
) -> "dict[RelationName, KeyConstraints]":
    from datahub_hyperjoin.spark.databases.keys import (  # noqa: PLC0415 (lakes of files need none)
        list_keys,
    )

    engine = open_engine(connection, database)
    try:
        return list_keys(engine, connection, names, lambda name: hidden.append(str(names[name])))
    finally:
        engine.dispose()


def _keys_of(
    table: TableId, constraints: "KeyConstraints", names: "Mapping[RelationName, TableId]"
) -> DeclaredKeys:
    unique = [tuple(ColumnId(table, path) for path in key) for key in constraints.unique]
    return DeclaredKeys(
        unique=frozenset(key[0] for key in unique if len(key) == 1),
        composite=frozenset(key for key in unique if len(key) > 1),
        foreign=tuple(_foreign_keys(table, constraints.foreign, names)),
    )


def _foreign_keys(
    table: TableId,
    constraints: "Sequence[ForeignKeyConstraint]",
    names: "Mapping[RelationName, TableId]",
) -> Iterator[ForeignKey]:
    """Yield a table's foreign keys that refer to tables of the run."""
    for key in constraints:
        target = names.get(key.relation)
        if target and len(key.columns) == len(key.referenced):
            ends = zip(key.columns, key.referenced, strict=True)
            yield ForeignKey(
                name=key.name,
                pairs=tuple((ColumnId(table, one), ColumnId(target, other)) for one, other in ends),
            )
