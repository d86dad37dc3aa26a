"""The SQL dialects in which databases can compute the normal forms of values."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.types import TypeEngine

from datahub_hyperjoin.locations import Compute, Database
from datahub_hyperjoin.spark.databases.bigquery_forms import (
    BIGQUERY_SYNTAX,
    bigquery_can_compute,
    bigquery_form,
)
from datahub_hyperjoin.spark.databases.binary_values import is_binary
from datahub_hyperjoin.spark.databases.clickhouse_forms import (
    CLICKHOUSE_SYNTAX,
    clickhouse_can_compute,
    clickhouse_form,
)
from datahub_hyperjoin.spark.databases.databricks_forms import (
    DATABRICKS_SYNTAX,
    databricks_can_compute,
    databricks_form,
)
from datahub_hyperjoin.spark.databases.mariadb_forms import (
    MARIADB_SYNTAX,
    mariadb_can_compute,
    mariadb_form,
)
from datahub_hyperjoin.spark.databases.postgresql_forms import (
    POSTGRESQL_SYNTAX,
    postgresql_can_compute,
    postgresql_form,
)
from datahub_hyperjoin.spark.databases.redshift_connections import complete_redshift
from datahub_hyperjoin.spark.databases.redshift_forms import (
    REDSHIFT_SYNTAX,
    redshift_can_compute,
    redshift_form,
)
from datahub_hyperjoin.spark.databases.snowflake_forms import (
    SNOWFLAKE_SYNTAX,
    snowflake_can_compute,
    snowflake_form,
)
from datahub_hyperjoin.spark.databases.sql_forms import SqlForm
from datahub_hyperjoin.spark.databases.sql_syntax import SqlSyntax
from datahub_hyperjoin.spark.databases.transactions import system_of
from datahub_hyperjoin.spark.databases.trino_forms import (
    TRINO_SYNTAX,
    trino_can_compute,
    trino_form,
)


@dataclass(frozen=True, slots=True)
class ComputingDialect:
    """A SQL dialect in which a database can compute the normal forms of values."""

    syntax: SqlSyntax
    """The parts of the SQL in which database systems differ."""

    form_of: Callable[[TypeEngine[object]], SqlForm | None]
    """Function that writes the normal forms of a column, given its type as SQLAlchemy reflects it.
    It returns None if SQL cannot compute them."""

    can_compute: Callable[[Connection], bool]
    """Function that tells whether the server of a connection can compute normal forms."""

    by_default: bool
    """Whether databases compute normal forms unless the recipe says otherwise. Those of a system
    that takes several times longer than reading the rows do not, nor do those of ClickHouse, which
    was measured as an engine in a process, not as a server, and of BigQuery, Databricks, Redshift,
    Snowflake and Trino, which were not measured at all."""

    lists_sizes: bool = True
    """Whether databases list the sizes of their tables. Otherwise, their rows are counted first."""

    def form_of_column(self, name: str, type_: TypeEngine[object]) -> SqlForm | None:
        """Write the normal forms of a column; None if SQL cannot compute them."""
        if self.syntax.has_fields and "." in name:
            return None
        if is_binary(type_):
            digits = self.syntax.digits_of_bytes
            return SqlForm(self.syntax.exact.format(digits), "v") if digits else None
        return self.form_of(type_)


COMPUTING_DIALECTS: dict[str, ComputingDialect] = {
    "bigquery": ComputingDialect(
        BIGQUERY_SYNTAX, bigquery_form, bigquery_can_compute, by_default=False, lists_sizes=False
    ),
    "clickhouse": ComputingDialect(
        CLICKHOUSE_SYNTAX, clickhouse_form, clickhouse_can_compute, by_default=False
    ),
    "databricks": ComputingDialect(
        DATABRICKS_SYNTAX,
        databricks_form,
        databricks_can_compute,
        by_default=False,
        lists_sizes=False,
    ),
    "mariadb": ComputingDialect(
        MARIADB_SYNTAX, mariadb_form, mariadb_can_compute, by_default=False
    ),
    "postgresql": ComputingDialect(
        POSTGRESQL_SYNTAX, postgresql_form, postgresql_can_compute, by_default=True
    ),
    "redshift": ComputingDialect(
        REDSHIFT_SYNTAX, redshift_form, redshift_can_compute, by_default=False, lists_sizes=False
    ),
    "snowflake": ComputingDialect(
        SNOWFLAKE_SYNTAX, snowflake_form, snowflake_can_compute, by_default=False
    ),
    "trino": ComputingDialect(
        TRINO_SYNTAX, trino_form, trino_can_compute, by_default=False, lists_sizes=False
    ),
}
"""The dialects, by the name of the database system."""


def is_asked_to_compute(database: Database) -> bool:
    """Return whether a database counts and compares values if it can, by the recipe.

    Args:
        database: The database; its system decides if the recipe does not.
    """
    if database.compute is not None:
        return database.compute is Compute.DATABASE
    dialect = named_dialect(database)
    return dialect is not None and dialect.by_default


def named_dialect(database: Database) -> ComputingDialect | None:
    """Return the dialect of the system that a database's URL names; None if there is none.

    Args:
        database: The database; its version or settings may be unsuitable.
    """
    try:
        url = make_url(database.url.get_secret_value())
    except ArgumentError:
        return None
    return COMPUTING_DIALECTS.get(complete_redshift(url).get_backend_name())


def computing_dialect(connection: Connection) -> ComputingDialect | None:
    """Return the dialect in which a database can compute normal forms; None if it cannot.

    Returns:
        The dialect; None if the system has none, or if its version or settings are unsuitable.
    """
    dialect = COMPUTING_DIALECTS.get(system_of(connection.engine))
    return dialect if dialect and dialect.can_compute(connection) else None
