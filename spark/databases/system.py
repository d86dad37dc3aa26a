"""What one must know of a database system, and the registry of all systems.

Each system has a class in a file of its own. Other packages add systems with entry points of the
group `datahub_hyperjoin.databases`: the name of an entry point is SQLAlchemy's name of the dialect,
and it leads to a subclass of `DatabaseSystem`.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import Connection, Dialect, Engine, Inspector, Row, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, ProgrammingError, SQLAlchemyError
from sqlalchemy.sql.elements import quoted_name
from sqlalchemy.types import ARRAY, JSON, Integer, LargeBinary, Numeric, TypeEngine, _Binary

from datahub_hyperjoin.locations import Compute, Database, Relation
from datahub_hyperjoin.names import escape_for_quotes
from datahub_hyperjoin.spark.databases.sql_forms import FormsByType, Probe, SqlForm, SqlSyntax
from datahub_hyperjoin.tables import DataType

if TYPE_CHECKING:
    from sqlalchemy import URL, CursorResult
    from sqlalchemy.engine import ExceptionContext
    from sqlalchemy.engine.interfaces import DBAPIConnection

RelationName = tuple[str, str]
"""Schema and name of a table."""
StateRows = Iterable[tuple[str, str, str]]
"""Schema, name and state of tables. States are compared only for equality."""
SETTLED = 2.0
"""Two changes this many seconds apart have different timestamps, even if the clock is coarse."""
THREE_PARTS = "{database}.{schema}.{table}"

_GROUP = "datahub_hyperjoin.databases"
_BUILT_IN = {
    "bigquery": "bigquery:BigQuery",
    "clickhouse": "clickhouse:ClickHouse",
    "databricks": "databricks:Databricks",
    "mariadb": "mariadb:MariaDb",
    "mysql": "mariadb:MySql",
    "postgres": "postgresql:PostgreSql",
    "postgresql": "postgresql:PostgreSql",
    "redshift": "redshift:Redshift",
    "snowflake": "snowflake:Snowflake",
    "sqlite": "sqlite:Sqlite",
    "trino": "trino:Trino",
}
"""The module and the class of each system, by SQLAlchemy's name or the scheme of a URL."""
_SYSTEM_SCHEMAS = {"information_schema", "mysql", "performance_schema", "sys", "pg_catalog"}
_NESTED_TYPES = {
    *("ARRAY", "GEOGRAPHY", "GEOMETRY", "HLLSKETCH", "HSTORE", "JSON", "MAP", "OBJECT", "ROW"),
    *("STRUCT", "SUPER", "TSVECTOR", "VARIANT", "VECTOR"),
}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([a-z]*)")
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
"""Seconds of each unit in which a system writes its limit."""


class DatabaseSystem:
    """A database system, as far as SQLAlchemy's dialect does not know it.

    What is here holds for systems of which nothing else is known; a subclass changes what differs.
    """

    name: str = ""
    """SQLAlchemy's name of the dialect."""

    # Names in DataHub, as its own connector writes them.
    platform: str = ""
    """DataHub's platform of the tables, if it differs from `name`."""

    table_names: str = "{schema}.{table}"
    """Pattern of the tables' names in DataHub."""

    has_lower_case_names: bool = False
    """Whether names are converted to lower case for DataHub."""

    schema_follows: bool = False
    """Whether a URL may continue with a schema: `trino://reader@host/hive/sales`."""

    # Connections.
    extra: str = ""
    """The extra of this package that installs SQLAlchemy's dialect; empty if SQLAlchemy has it."""

    scheme: str = ""
    """The scheme of URLs for a driver that an extra installs; empty if it is `name`."""

    port: int | None = None
    """The port of a URL without one."""

    is_file: bool = False
    """Whether the database of a URL is a file."""

    names_without_recipe: str = ""
    """Pattern of the tables' names in `hyperjoin find`; empty if it does not take such URLs."""

    sql_dialect: str = ""
    """sqlglot's name of the dialect in which joins are run; empty if none are, because the time of
    a statement cannot be limited."""

    # Transactions, which cannot write, and whose statements have a time limit. Behind a pool, other
    # programs use the same session of the server later. So whatever is set for a server ends with
    # its transaction or its statement.
    begin: str = ""
    """Statement with which a transaction begins that cannot write."""

    asks_limit: str = ""
    """Statement that returns the time limit with which a session begins, among the values of a row.
    An administrator may have set it. The smaller limit holds."""

    limit_unit: str = "s"
    """Unit of a limit without a unit, as in `_UNITS`."""

    keeps_session: bool = False
    """Whether a session belongs to one connection and ends with it, so that limits are set for the
    session, and an error does not end the transaction."""

    rewrites_statements: bool = False
    """Whether `limited` limits the time of a statement by rewriting it."""

    time_limit_codes: frozenset[str] = frozenset()
    """Codes of the error that a statement exceeded its time limit."""

    # Tables.
    schema_is_database: bool = False
    """Whether a schema is a database, so that a URL may name the only one to read."""

    sizes: str = ""
    """Query for schema, name and size in bytes of tables; at least 1 unless it is unknown."""

    parts: str = ""
    """Query for schema and name of partitions, and of the table that they are a part of."""

    has_states: bool = False
    """Whether `states` has any."""

    declares_keys: bool = True
    """Whether keys are declared, and no value repeats in them."""

    has_search_path: bool = False
    """Whether foreign keys leave out the schema of a table on the search path."""

    # Columns.
    withheld_columns: str = ""
    """Query for the columns of a table `:name` in a `:schema` that the user may not select."""

    hex_digits: str = ""
    """Expression of the hexadecimal digits of the bytes `{0}`, null if these are too long for a
    key, since all drivers return texts alike; empty if bytes are not read."""

    most_fetched: int | None = None
    """The most rows that one call may fetch."""

    # Computing normal forms.
    syntax: SqlSyntax | None = None
    """The SQL that computes normal forms; None if no server can."""

    forms: FormsByType = MappingProxyType({})
    """The normal forms that SQL computes; of the classes to which a type belongs, the narrowest
    decides."""

    first_version: tuple[int, ...] = ()
    """The oldest version of a server that computes them."""

    answers: Mapping[str, str] = MappingProxyType({})
    """Statements, and what servers answer that compute them."""

    probes: Sequence[Probe] = ()
    """Known values, of which servers must compute the normal forms as this package does."""

    probed_row: str = ""
    """The clause `FROM` of one row on which the probes depend, if they do."""

    by_default: bool = False
    """Whether databases compute normal forms unless the recipe says otherwise. Those of a system
    that takes several times longer than reading the rows do not, nor do those that were measured as
    an engine in a process, not as a server, or not at all."""

    lists_sizes: bool = True
    """Whether databases list the sizes of their tables. Otherwise, their rows are counted first."""

    @property
    def datahub_platform(self) -> str:
        """DataHub's platform of the tables."""
        return self.platform or self.name

    def behind(self, url: "URL") -> str:
        """Return the name of the system to which a URL with this system's name leads."""
        return self.name

    def database_name(self, url: "URL") -> str:
        """Return the database, catalog or project that a URL names."""
        name = url.database or ""
        # StarRocks separates the schema by a dot.
        return name.partition("/")[0].partition(".")[0] if self.schema_follows else name

    def complete(self, url: "URL") -> "URL":
        """Complete a URL, so that it leads to the dialect and driver that read best."""
        return url

    def arguments(self, url: "URL") -> dict[str, object]:
        """Return the arguments with which the driver opens a connection."""
        # Else it would turn the session's `autocommit` off. Transactions begin all the same.
        return {"autocommit": True} if url.get_driver_name() == "pymysql" else {}

    def engine_created(self) -> None:
        """Prepare SQLAlchemy's dialect, once its package has been imported."""

    def prepare(self, connection: "DBAPIConnection", engine: Engine, timeout: float) -> None:
        """Make a new connection read-only, and let no odd value end a statement.

        Args:
            connection: The connection of the driver.
            engine: Its engine.
            timeout: The largest time limit of a statement, in seconds.
        """
        if engine.driver == "psycopg2":
            _prepare_psycopg(connection)

    def translated(self, context: "ExceptionContext") -> SQLAlchemyError | None:
        """Return the error of a database that an exception of its driver means."""
        return None

    def limit_statement(self, seconds: float) -> str:
        """Write the statement that limits the time of the statements after it; empty if none."""
        return ""

    def limit(self, connection: Connection, before: float | None, seconds: float) -> None:
        """Limit the time of the statements of a transaction, if it can be.

        Args:
            connection: A connection whose transaction has just begun.
            before: The limit of the transaction before on this connection.
            seconds: The limit.
        """
        statement = self.limit_statement(seconds)
        if not statement or (self.keeps_session and before == seconds):
            return
        # Not every user who may read may also change a session.
        with suppress(*([ProgrammingError] if self.keeps_session else [])):
            run(connection, statement)

    def limited(self, statement: str, seconds: float) -> str:
        """Return a statement with a time limit."""
        return statement

    def server_limit(self, connection: Connection) -> float:
        """Return the time limit under which a session begins, in seconds; infinite if none."""
        if not self.asks_limit:
            return math.inf
        row: Row[Any] | None = None
        # An error ends the transaction of other systems.
        with suppress(*([SQLAlchemyError] if self.keeps_session else [])):
            row = run(connection, self.asks_limit).first()
        found = [_seconds(value, self.limit_unit) for value in row or ()]
        return min((each for each in found if each), default=math.inf)

    def relations(
        self, engine: Engine, wanted: Callable[[str], bool], *, views: bool
    ) -> dict[RelationName, tuple[int, bool]]:
        """List the tables of wanted schemas, and the views if `views` is true.

        Returns:
            For each its size in bytes, which is 0 if it is unknown, and whether it is a view.
        """
        sizes = {(schema, name): size for schema, name, size in query(engine, self.sizes)}
        inspector = inspect(engine)
        if self.schema_is_database and engine.url.database:
            schemas = [engine.url.database]
        else:
            schemas = [each for each in inspector.get_schema_names() if not is_of_system(each)]
        return {
            (schema, name): (int(sizes.get((schema, name)) or 0), is_view)
            for schema in schemas
            if wanted(schema)
            for name, is_view in self.names(inspector, schema, views=views).items()
        }

    def names(self, inspector: Inspector, schema: str, *, views: bool) -> dict[str, bool]:
        """Return the names of a schema's tables and views, and whether each is a view."""
        names = dict.fromkeys(inspector.get_table_names(schema), False)
        # Some dialects list views among the tables, too.
        return names | dict.fromkeys(inspector.get_view_names(schema) if views else (), True)

    def states(self, connection: Connection) -> StateRows:
        """Return a state for each table that guarantees it: equal states mean equal rows.

        In case of doubt a table has no state and is read every time. Views never have one: they may
        depend on the clock or on other servers. States are taken before rows are read.
        """
        return ()

    def column_name(self, reported: str) -> str:
        """Return the name of a column, without what SQLAlchemy adds to it."""
        return self.name_in_key(reported)

    def name_in_key(self, reported: str) -> str:
        """Return the name of a table or column in a key, without what SQLAlchemy adds to it."""
        return reported

    def granted_columns(
        self, relation: Relation, inspector: Inspector
    ) -> Sequence[Mapping[str, Any]]:
        """Describe the columns of which the user may know, where SQLAlchemy may not ask."""
        return []

    def escaped(self, name: str) -> str:
        """Escape a name that SQLAlchemy will put between quotes."""
        return escape_for_quotes(name, self.name)

    def is_integer(self, type_: TypeEngine[Any]) -> bool:
        """Return whether the values of a column are whole numbers."""
        # The integers of Snowflake and Oracle are decimal numbers without a fraction.
        return isinstance(type_, Integer) or (isinstance(type_, Numeric) and type_.scale == 0)

    def opaque_type(self, type_: TypeEngine[Any]) -> DataType | None:
        """Return the type of a column that is not read; None if it is."""
        if is_binary(type_):
            return None if self.has_digits(type_) else DataType.BINARY
        nested = isinstance(type_, (ARRAY, JSON)) or type(type_).__name__.upper() in _NESTED_TYPES
        return DataType.NESTED if nested else None

    def has_digits(self, type_: TypeEngine[Any]) -> bool:
        """Return whether the values of a column are bytes that are read as `hex_digits`."""
        return bool(self.hex_digits) and is_binary(type_)

    def reading(self, type_: TypeEngine[Any]) -> str | None:
        """Return the expression that reads the column `{0}`; None if drivers read it as it is."""
        return self.hex_digits if self.has_digits(type_) else None

    def form(self, type_: TypeEngine[Any]) -> SqlForm | None:
        """Write the normal forms of a column of a type; None if SQL cannot compute them."""
        found = next((self.forms[each] for each in type(type_).__mro__ if each in self.forms), None)
        return found(type_) if callable(found) else found

    def form_of_column(self, name: str, type_: TypeEngine[Any]) -> SqlForm | None:
        """Write the normal forms of a column; None if SQL cannot compute them."""
        if not self.syntax or (self.syntax.has_fields and "." in name):
            return None
        if not is_binary(type_):
            return self.form(type_)
        digits = self.hex_digits
        return SqlForm(self.syntax.exact.format(digits), "v") if digits else None

    def can_compute(self, connection: Connection) -> bool:
        """Return whether the server of a connection computes normal forms as `form` writes them."""
        return (
            tuple(connection.dialect.server_version_info or ()) >= self.first_version
            and all(
                str(connection.exec_driver_sql(asked).scalar_one()) == answer
                for asked, answer in self.answers.items()
            )
            and (not self.probes or self._computes_probes(connection))
        )

    def _computes_probes(self, connection: Connection) -> bool:
        """Return whether all probes have their normal forms, which the server takes for exact."""
        forms = [self.form(each.type) for each in self.probes]
        queries = [
            f"SELECT {place} AS place, {form.normal} AS f FROM (SELECT {form.folded} AS f FROM "  # noqa: S608
            # No row comes of a value whose normal form may be wrong.
            f"(SELECT {form.value.format(each.value)} AS v{self.probed_row}) AS d "
            f"WHERE NOT ({form.inexact})) AS e"
            for place, (each, form) in enumerate(zip(self.probes, forms, strict=True))
            if form
        ]
        computed = connection.exec_driver_sql(" UNION ALL ".join(queries)).all()
        return {*map(tuple, computed)} == {(at, each.normal) for at, each in enumerate(self.probes)}


_OTHERS: dict[str, dict[str, str | int | bool]] = {
    **{name: {"table_names": THREE_PARTS} for name in ("cockroachdb", "db2", "vertica")},
    "presto": {"table_names": THREE_PARTS, "schema_follows": True},
    "starrocks": {"table_names": THREE_PARTS, "schema_follows": True},
    "awsathena": {"platform": "athena"},
    "druid": {"table_names": "{table}"},
    "ibm_db_sa": {"platform": "db2", "table_names": THREE_PARTS},
    "mssql": {"table_names": THREE_PARTS, "port": 1433},
    "oracle": {"port": 1521},
    "teradatasql": {"platform": "teradata"},
}
"""What is known of systems without a class."""


_loaded: dict[str, DatabaseSystem] = {}


def system_named(name: str) -> DatabaseSystem:
    """Return the system that SQLAlchemy calls by a name."""
    if name not in _loaded:
        own = EntryPoint(name, f"{__package__}.{_BUILT_IN.get(name)}", _GROUP)
        known = [own] if name in _BUILT_IN else entry_points(group=_GROUP, name=name)
        system: DatabaseSystem = next((each.load()() for each in known), None) or DatabaseSystem()
        if not known:
            vars(system).update(_OTHERS.get(name, {}), name=name)
        _loaded[name] = system
    return _loaded[name]


def are_out_of_time(code: str) -> bool:
    """Return whether the code of an error says so in any system that this process has met."""
    return any(code in system.time_limit_codes for system in _loaded.values())


def system_of_url(url: "URL") -> DatabaseSystem:
    """Return the system to which a URL leads."""
    system = system_named(url.get_backend_name())
    return system_named(system.behind(url))


def system_of(dialect: Dialect) -> DatabaseSystem:
    """Return the system of a dialect: MariaDB, once connected, even if the URL says `mysql`."""
    return system_named("mariadb" if getattr(dialect, "is_mariadb", False) else dialect.name)


def system_of_database(database: Database) -> DatabaseSystem | None:
    """Return the system that a database's URL names; None if it is no URL."""
    try:
        return system_of_url(make_url(database.url.get_secret_value()))
    except ArgumentError:
        return None


def is_asked_to_compute(database: Database) -> bool:
    """Return whether a database counts and compares values if it can; by the recipe or default."""
    if database.compute is not None:
        return database.compute is Compute.DATABASE
    system = system_of_database(database)
    return system is not None and system.by_default


def computing_system(connection: Connection) -> DatabaseSystem | None:
    """Return the system of a database that can compute normal forms; None if it cannot."""
    system = system_of(connection.engine.dialect)
    return system if system.syntax and system.can_compute(connection) else None


def is_binary(type_: TypeEngine[Any]) -> bool:
    """Return whether the values of a column are bytes."""
    return isinstance(type_, (_Binary, LargeBinary))


def is_of_system(schema: str) -> bool:
    """Return whether a schema belongs to the database system itself."""
    return schema.lower() in _SYSTEM_SCHEMAS or schema.startswith("pg_")


def query(bind: Engine | Connection, statement: str, **parameters: object) -> Sequence[Row[Any]]:
    """Return the rows of a statement; none if it is empty."""
    if not statement:
        return []
    # A second connection would wait for the first.
    with nullcontext(bind) if isinstance(bind, Connection) else bind.connect() as connection:
        return connection.execute(text(statement), parameters).all()


def run(connection: Connection, statement: str) -> "CursorResult[Any]":
    """Run a statement that is no reading of a table."""
    # A connection that streams its results would declare a cursor for each statement.
    return connection.exec_driver_sql(statement, execution_options={"stream_results": False})


def milliseconds(seconds: float) -> int:
    """Return a time limit in milliseconds, at least 1, since 0 would be none."""
    return max(1, round(seconds * 1000))


def _seconds(value: object, unit: str) -> float:
    """Read a duration such as `10min`; 0 if there is none."""
    found = _DURATION.fullmatch(str(value))
    return float(found[1]) * _UNITS.get(found[2] or unit, 0.0) if found else 0.0


def _prepare_psycopg(connection: "DBAPIConnection") -> None:
    """Let a connection of PostgreSQL's driver begin transactions that cannot write.

    It also returns a date as text if Python cannot represent it. Python has no years before 1,
    PostgreSQL has: `0044-03-15 BC`.
    """
    from psycopg2 import extensions  # noqa: PLC0415 (installed with the extra `postgres` only)

    raw = cast("extensions.connection", connection)
    raw.set_session(readonly=True)

    def read(known: Callable[..., object], text: str | bytes | None, cursor: object) -> object:
        try:
            return known(text, cursor)
        except (ValueError, OverflowError):
            return text

    for name in ("DATE", "DATETIME", "DATETIMETZ"):
        known = getattr(extensions, f"PY{name}")
        type_ = extensions.new_type(known.values, name, partial(read, known))
        extensions.register_type(type_, raw)


# Snowflake and Oracle store a name without quotes in capitals. SQLAlchemy reports such a name in
# small letters, as DataHub's connector does, and marks the names that are really in small letters.


def stored_name(name: str, dialect: Dialect) -> quoted_name:
    """Return a name as the database stores it; it will be quoted."""
    is_exact = isinstance(name, quoted_name) and name.quote
    if dialect.requires_name_normalize and not is_exact:
        name = dialect.denormalize_name(name)
    return quoted_name(name, quote=True)


def reported_name(name: str, dialect: Dialect) -> str:
    """Return a name as SQLAlchemy reports it."""
    return dialect.normalize_name(name) if dialect.requires_name_normalize else name


def name_in_quotes(name: str, dialect: Dialect) -> str:
    """Write the quoted name of a schema, table or column."""
    stored = system_of(dialect).escaped(stored_name(name, dialect))
    return dialect.identifier_preparer.quote_identifier(stored)


def relation_in_quotes(relation: Relation, dialect: Dialect) -> str:
    """Write the quoted name of a table or view, with its schema if there is one."""
    names = (relation.schema, relation.name)
    return ".".join(name_in_quotes(name, dialect) for name in names if name)
