"""List the tables and views of a database."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sqlalchemy import Engine, Inspector, inspect, text
from sqlalchemy.dialects.postgresql.base import PGInspector
from sqlalchemy.exc import SQLAlchemyError

from datahub_hyperjoin.spark.databases.engines import unreachable
from datahub_hyperjoin.spark.databases.states import states_of
from datahub_hyperjoin.spark.databases.stored_names import reported_name

_SYSTEM_SCHEMAS = {"information_schema", "mysql", "performance_schema", "sys", "pg_catalog"}
_SCHEMA_IS_DATABASE = {"mysql", "mariadb", "clickhouse"}
"""Database systems in which a schema is a database."""
_SIZES = {
    # The size of an empty table is known, unlike that of a partitioned one, which has no bytes.
    "postgresql": "SELECT n.nspname, c.relname, "
    "greatest(pg_relation_size(c.oid), CAST(c.relkind <> 'p' AS int)) FROM pg_class c "
    "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'm')",
    # It compresses rows to fewer bytes than others need, and than it sends: 8 for each at least.
    "clickhouse": "SELECT t.database, t.name, if(t.total_rows IS NULL, 0, "
    "greatest(ifNull(p.bytes, 0), 8 * t.total_rows, 1)) FROM system.tables AS t "
    "LEFT JOIN (SELECT database, table, sum(data_uncompressed_bytes) AS bytes "
    "FROM system.parts WHERE active GROUP BY database, table) AS p "
    "ON p.database = t.database AND p.table = t.name",
    "mysql": "SELECT table_schema, table_name, data_length FROM information_schema.tables",
}
_SIZES["mariadb"] = _SIZES["mysql"]
# A table that inherits from another and adds no column is a partition in the older way.
_PARTS_IN_POSTGRESQL = text("""
    SELECT n.nspname, c.relname, pn.nspname || '.' || p.relname
    FROM pg_inherits i
    JOIN pg_class c ON c.oid = i.inhrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_class p ON p.oid = i.inhparent
    JOIN pg_namespace pn ON pn.oid = p.relnamespace
    WHERE has_any_column_privilege(p.oid, 'SELECT') AND (
        c.relispartition OR NOT EXISTS (
            SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.attislocal
        )
    )
""")
# One statement, since SQLAlchemy's for each schema return at most 10,000 tables. It compresses
# rows, too; of tables outside of it, it knows neither bytes nor rows.
_TABLES_OF_SNOWFLAKE = (
    "SELECT table_schema, table_name, greatest(bytes, 8 * row_count, 1), "
    "table_type IN ('VIEW', 'MATERIALIZED VIEW') FROM information_schema.tables"
)


@dataclass(frozen=True, slots=True, order=True)
class ListedRelation:
    """A table or view that a database or Spark catalog lists."""

    schema: str
    """Schema that contains the table or view."""

    name: str
    """Name of the table or view, without the schema."""

    size: int
    """Bytes on disk, at least 1; 0 if the database does not report it."""

    state: str = ""
    """A value that differs whenever the rows may have changed; empty if that is uncertain."""

    part_of: str = ""
    """Schema and name of the table that also returns these rows, as a partitioned table returns
    those of its partitions; empty if there is none."""

    is_view: bool = False
    """Whether reading it runs a query of unknown cost: a view that is not materialized."""

    @property
    def path(self) -> str:
        """Schema and name, joined by a dot."""
        return f"{self.schema}.{self.name}"


def without_parts(relations: Iterable[ListedRelation]) -> list[ListedRelation]:
    """Leave out partitions of tables that are listed themselves, whose rows would count twice."""
    chosen = {each.path: each for each in relations}
    return [each for each in chosen.values() if each.part_of not in chosen]


def list_relations(
    engine: Engine, connection: str, *, wanted: Callable[[str], bool], views: bool
) -> list[ListedRelation]:
    """List the tables in the wanted schemas of a database, and the views if `views` is true.

    System schemas are left out.

    On MySQL and ClickHouse servers, schemas are databases. If the URL names a database, only that
    one is listed.

    Args:
        wanted: Function that tells whether to list a schema.
    """
    try:
        if engine.dialect.name == "snowflake":
            listed = _list_snowflake(engine, views=views)
            sizes = {name: size for name, (size, _) in listed.items()}
            relations = {
                name: is_view
                for name, (_, is_view) in listed.items()
                if not _is_system(name[0]) and wanted(name[0])
            }
        else:
            sizes = _sizes(engine)
            relations = _relations(engine, wanted, views=views)
        parts = _parts(engine)
    except SQLAlchemyError as error:
        raise unreachable(connection, error) from None
    # States have to be older than the rows that are read later.
    states = states_of(engine)
    return sorted(
        ListedRelation(
            *name,
            sizes.get(name, 0),
            states.get(name, ""),
            part_of=parts.get(name, ""),
            is_view=is_view,
        )
        for name, is_view in relations.items()
    )


def _relations(
    engine: Engine, wanted: Callable[[str], bool], *, views: bool
) -> dict[tuple[str, str], bool]:
    """Return schema and name of each table, and of each view if `views` is true.

    The value tells whether it is a view.
    """
    inspector = inspect(engine)
    return {
        (schema, name): is_view
        for schema in _schemas(engine, inspector)
        if wanted(schema)
        for name, is_view in _names(inspector, schema, views=views).items()
    }


def _schemas(engine: Engine, inspector: Inspector) -> list[str]:
    if engine.dialect.name in _SCHEMA_IS_DATABASE and engine.url.database:
        # The URL names the one to read.
        return [engine.url.database]
    return [schema for schema in inspector.get_schema_names() if not _is_system(schema)]


def _is_system(schema: str) -> bool:
    return schema.lower() in _SYSTEM_SCHEMAS or schema.startswith("pg_")


def _names(inspector: Inspector, schema: str, *, views: bool) -> dict[str, bool]:
    """Return the names of tables and views, and whether each is a view."""
    names = dict.fromkeys(inspector.get_table_names(schema), False)
    is_postgresql = inspector.dialect.name == "postgresql"
    # SQLAlchemy lists foreign tables and materialized views apart from others.
    if is_postgresql and isinstance(inspector, PGInspector):
        names |= dict.fromkeys(inspector.get_foreign_table_names(schema), False)
    if not views:
        return names
    # Some dialects list views among the tables, too.
    names |= dict.fromkeys(inspector.get_view_names(schema), True)
    if is_postgresql:
        names |= dict.fromkeys(inspector.get_materialized_view_names(schema), False)
    return names


def _parts(engine: Engine) -> dict[tuple[str, str], str]:
    """Map each partition of PostgreSQL to the table that it is a part of."""
    if engine.dialect.name != "postgresql":
        return {}
    with engine.connect() as connection:
        rows = connection.execute(_PARTS_IN_POSTGRESQL).all()
    return {(schema, name): whole for schema, name, whole in rows}


def _sizes(engine: Engine) -> dict[tuple[str, str], int]:
    """Return how many bytes each table takes on disk.

    For an unknown database system, it returns nothing.
    """
    statement = _SIZES.get(engine.dialect.name)
    if statement is None:
        return {}
    with engine.connect() as connection:
        rows = connection.execute(text(statement)).all()
    return {(schema, name): int(size or 0) for schema, name, size in rows}


def _list_snowflake(engine: Engine, *, views: bool) -> dict[tuple[str, str], tuple[int, bool]]:
    """Return the size of each table and of each view, and whether it is a view.

    Views are listed if `views` is true.
    """
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(_TABLES_OF_SNOWFLAKE).all()
        dialect = connection.dialect
        return {
            (reported_name(schema, dialect), reported_name(name, dialect)): (
                0 if is_view else int(size or 0),
                bool(is_view),
            )
            for schema, name, size, is_view in rows
            if views or not is_view
        }
