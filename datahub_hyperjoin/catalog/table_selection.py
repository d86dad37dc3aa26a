"""Select the tables to read, and name them as DataHub does."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from datahub.configuration.common import AllowDenyPattern
from sqlalchemy import make_url
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
from datahub_hyperjoin.tables import Table, TableId

OWN_CATALOG = "spark_catalog"
"""Spark's name for its own catalog, which is Hive's metastore if Spark has one."""

_PLATFORMS = {
    "postgresql": "postgres",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gcs",
    "abfs": "abs",
    "abfss": "abs",
    "wasb": "abs",
    "wasbs": "abs",
}
"""DataHub platforms whose names differ from those of SQLAlchemy's dialects or of URI schemes."""

_NAMED_WITH_DATABASE = {"postgresql", "redshift", "cockroachdb", "mssql", "snowflake", "trino"}
"""Dialects for which DataHub's connectors write the database before the schema."""


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
        """Create a `Table` with the name that DataHub uses.

        Args:
            title: The name a person would use.
            location: The table's location.
            size: Bytes on disk; 0 if unknown.
            state: A value that differs whenever the rows may have changed; empty if unknown.
            **parts: Parts of the name, for the placeholders of the pattern.

        Returns:
            The table. Its name has the platform instance as a prefix.
        """
        name = self.names.format(**parts)
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
    """Guess the DataHub platform of a source's tables.

    Args:
        source: The source.

    Returns:
        The platform's name.
    """
    match source:
        case SparkCatalog():
            # Spark's own catalog; for another one the recipe has to set `platform`.
            return "hive"
        case Database():
            system = _backend(source)
        case RemoteFolder():
            system = urlsplit(source.uri).scheme
        case _:
            assert_never(source)
    return _PLATFORMS.get(system, system)


def names_of(source: TableSource) -> str:
    """Return the pattern by which DataHub's own connectors name a source's tables.

    Args:
        source: The source.

    Returns:
        A pattern with placeholders in braces.
    """
    match source:
        case SparkCatalog():
            return "{schema}.{table}"
        case Database():
            has_database = _backend(source) in _NAMED_WITH_DATABASE
            return "{database}.{schema}.{table}" if has_database else "{schema}.{table}"
        case RemoteFolder():
            return "{folder}/{table}"
        case _:
            assert_never(source)


def _backend(database: Database) -> str:
    return make_url(database.url.get_secret_value()).get_backend_name()
