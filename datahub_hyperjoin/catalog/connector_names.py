"""Name the tables of databases as DataHub's own connectors do."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from datahub_hyperjoin.spark.databases.redshift_connections import complete_redshift

if TYPE_CHECKING:
    from sqlalchemy import URL

_THREE_PARTS = "{database}.{schema}.{table}"
_TWO_PARTS = "{schema}.{table}"


@dataclass(frozen=True)
class ConnectorNames:
    """The rules by which DataHub's connector for a kind of database names the tables."""

    platform: str
    """DataHub platform of the tables."""

    pattern: str = _TWO_PARTS
    """Pattern of the tables' names, with placeholders in braces."""

    is_lower_case: bool = False
    """Whether the names are converted to lower case."""


_CONNECTORS = {
    "awsathena": ConnectorNames("athena"),
    "bigquery": ConnectorNames("bigquery", _THREE_PARTS),
    "cockroachdb": ConnectorNames("cockroachdb", _THREE_PARTS),
    "databricks": ConnectorNames("databricks", _THREE_PARTS),
    "db2": ConnectorNames("db2", _THREE_PARTS),
    "druid": ConnectorNames("druid", "{table}"),
    "ibm_db_sa": ConnectorNames("db2", _THREE_PARTS),
    "mssql": ConnectorNames("mssql", _THREE_PARTS),
    "postgresql": ConnectorNames("postgres", _THREE_PARTS),
    "presto": ConnectorNames("presto", _THREE_PARTS),
    "redshift": ConnectorNames("redshift", _THREE_PARTS),
    "snowflake": ConnectorNames("snowflake", _THREE_PARTS, is_lower_case=True),
    "starrocks": ConnectorNames("starrocks", _THREE_PARTS),
    "teradatasql": ConnectorNames("teradata"),
    "trino": ConnectorNames("trino", _THREE_PARTS),
    "vertica": ConnectorNames("vertica", _THREE_PARTS),
}
"""How connectors name tables, by SQLAlchemy's dialect. For other dialects, the platform has the
name of the dialect, and tables are named `schema.table`."""

_SCHEMA_FOLLOWS = {"presto", "snowflake", "starrocks", "trino"}
"""Dialects whose URLs may continue with a schema: `trino://reader@host/hive/sales`."""


def connector_names(url: "URL") -> ConnectorNames:
    """Return the rules by which DataHub's connector names the tables of a database."""
    dialect = complete_redshift(url).get_backend_name()
    return _CONNECTORS.get(dialect, ConnectorNames(dialect))


def database_name(url: "URL") -> str:
    """Return the database, catalog or project that a URL names.

    >>> from sqlalchemy import make_url
    >>> database_name(make_url("trino://reader@host/hive/sales"))
    'hive'
    >>> database_name(make_url("bigquery://my-project/sales"))
    'my-project'
    >>> database_name(make_url("databricks://token@host?http_path=/sql/1&catalog=main"))
    'main'
    """
    dialect, name = url.get_backend_name(), url.database or ""
    if dialect == "bigquery":
        return url.host or ""
    if dialect == "databricks":
        [catalog] = url.normalized_query.get("catalog", ("",))
        return catalog
    if dialect in _SCHEMA_FOLLOWS:
        # StarRocks separates the schema by a dot.
        return name.partition("/")[0].partition(".")[0]
    return name
