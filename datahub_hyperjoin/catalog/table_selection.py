"""Select the tables to read, and name them as DataHub's own connectors do."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from datahub.configuration.common import AllowDenyPattern
from typing_extensions import assert_never

from datahub_hyperjoin.locations import (
    DEFAULT_DIALECT,
    Database,
    Dialect,
    RemoteFolder,
    SparkCatalog,
    TableLocation,
    TableSource,
)
from datahub_hyperjoin.spark.databases.redshift_connections import complete_redshift
from datahub_hyperjoin.tables import Table, TableId

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


OWN_CATALOG = "spark_catalog"
"""Spark's name for its own catalog, which is Hive's metastore if Spark has one."""

_PLATFORMS = {
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gcs",
    "abfs": "abs",
    "abfss": "abs",
    "wasb": "abs",
    "wasbs": "abs",
}
"""DataHub's platform by the scheme of a URI, where the two names differ."""


@dataclass(frozen=True, kw_only=True)
class TableSelection:
    """The rules that select and name the tables of a source."""

    platform: str
    """DataHub platform of the tables."""

    env: str
    """DataHub environment of the tables."""

    instance: str | None = None
    """DataHub platform instance of the tables."""

    names: str = "{table}"
    """Pattern of the tables' names in DataHub, built from `{database}`, `{schema}`, `{folder}` and
    `{table}`."""

    is_lower_case: bool = False
    """Whether the names are converted to lower case, except for the platform instance."""

    schemas: AllowDenyPattern = field(default_factory=AllowDenyPattern.allow_all)
    """Schemas to list."""

    tables: AllowDenyPattern = field(default_factory=AllowDenyPattern.allow_all)
    """Tables to keep, as `schema.table` or by their path below the folder."""

    views: bool = True
    """Whether views are kept."""

    dialect: Dialect = DEFAULT_DIALECT
    """Dialect of files of delimited text."""

    key: str = "catalog"
    """The recipe key of the source, as in `connections[0]`."""

    def table(
        self, *, title: str, location: TableLocation, size: int = 0, state: str = "", **parts: str
    ) -> Table:
        """Create a `Table` whose name in DataHub is composed from `parts`."""
        name = self.names.format(**parts)
        name = name.lower() if self.is_lower_case else name
        full_name = f"{self.instance}.{name}" if self.instance else name
        return Table(
            id=TableId(self.platform, full_name, self.env),
            title=title,
            location=location,
            size=size,
            instance=self.instance or "",
            state=state,
            chosen_by=f"{self.key}.tables",
        )


def platform_of(source: TableSource) -> str:
    """Guess the DataHub platform of a source's tables."""
    match source:
        case SparkCatalog():
            # Spark's own catalog; for another one the recipe has to set `platform`.
            return "hive"
        case Database():
            return _connector_names(source).platform
        case RemoteFolder():
            scheme = urlsplit(source.uri).scheme
            return _PLATFORMS.get(scheme, scheme)
        case _:
            assert_never(source)


def names_of(source: TableSource) -> str:
    """Return the pattern by which DataHub's own connectors name a source's tables."""
    match source:
        case SparkCatalog():
            return "{schema}.{table}"
        case Database():
            return _connector_names(source).pattern
        case RemoteFolder():
            return "{folder}/{table}"
        case _:
            assert_never(source)


def has_lower_case_names(source: TableSource) -> bool:
    """Return whether DataHub's own connectors name a source's tables in lower case."""
    match source:
        case Database():
            return _connector_names(source).is_lower_case
        case SparkCatalog() | RemoteFolder():
            return False
        case _:
            assert_never(source)


def _connector_names(database: Database) -> ConnectorNames:
    from sqlalchemy import make_url  # noqa: PLC0415 (lakes of files need no database)

    return connector_names(make_url(database.url.get_secret_value()))
