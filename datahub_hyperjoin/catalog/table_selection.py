"""Which tables of a place are read, and what DataHub calls them."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from datahub.configuration.common import AllowDenyPattern
from sqlalchemy import make_url

from datahub_hyperjoin.locations import (
    USUAL,
    Database,
    Dialect,
    SparkCatalog,
    TableLocation,
    TableSource,
)
from datahub_hyperjoin.tables import Table, TableId

OWN_CATALOG = "spark_catalog"
"""What Spark calls its own catalog, which is Hive's where there is one."""

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
"""DataHub's platforms, where their names are not SQLAlchemy's or the file systems'."""

_IN_DATABASES = {"postgresql", "redshift", "cockroachdb", "mssql", "snowflake", "trino"}
"""Where DataHub's connectors write the database before the schema."""


@dataclass(frozen=True, kw_only=True)
class TableSelection:
    """Which tables of a place are read, and what DataHub calls them."""

    platform: str
    """DataHub platform of the tables."""

    env: str
    """DataHub environment of the tables."""

    instance: str | None
    """DataHub platform instance of the tables."""

    names: str
    """Pattern of their names in DataHub, of `{database}`, `{schema}`, `{folder}` and `{table}`."""

    schemas: AllowDenyPattern
    """Schemas that are wanted."""

    tables: AllowDenyPattern
    """Tables that are wanted, as `schema.table` or by path below the folder."""

    views: bool
    """Whether views are, too."""

    dialect: Dialect = USUAL
    """How files of delimited text are written."""

    key: str = "catalog"
    """What the recipe calls the place, as in `connections[0]`."""

    def table(
        self, *, title: str, place: TableLocation, size: int = 0, state: str = "", **parts: str
    ) -> Table:
        """A table as DataHub knows it.

        Args:
            title: The name a person would use.
            place: Where its rows are.
            size: Bytes on disk, as far as they are known.
            state: Another one whenever its rows may be others; empty if nothing tells.
            **parts: What its name in DataHub is made of.

        Returns:
            The table, its name with the platform instance before it.
        """
        name = self.names.format(**parts)
        full_name = f"{self.instance}.{name}" if self.instance else name
        return Table(
            id=TableId(self.platform, full_name, self.env),
            title=title,
            place=place,
            size=size,
            instance=self.instance or "",
            state=state,
            chosen_by=f"{self.key}.tables",
        )


def platform_of(source: TableSource) -> str:
    """The DataHub platform that tables are most likely on.

    Args:
        source: Where they are.

    Returns:
        The platform's name.
    """
    if isinstance(source, SparkCatalog):
        return "hive"
    system = _backend(source) if isinstance(source, Database) else urlsplit(source.location).scheme
    return _PLATFORMS.get(system, system)


def names_of(source: TableSource) -> str:
    """How DataHub's own connectors name tables.

    Args:
        source: Where they are.

    Returns:
        A pattern.
    """
    if isinstance(source, SparkCatalog):
        return "{schema}.{table}"
    if isinstance(source, Database):
        stands_before = _backend(source) in _IN_DATABASES
        return "{database}.{schema}.{table}" if stands_before else "{schema}.{table}"
    return "{folder}/{table}"


def _backend(database: Database) -> str:
    return make_url(database.url.get_secret_value()).get_backend_name()
