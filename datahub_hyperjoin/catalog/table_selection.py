"""Select the tables to read, and name them as DataHub's own connectors do."""

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from typing_extensions import assert_never

from datahub_hyperjoin.locations import (
    DEFAULT_DIALECT,
    Database,
    Dialect,
    FileOptions,
    RemoteFolder,
    SparkCatalog,
    TableLocation,
    TableSource,
)
from datahub_hyperjoin.tables import Table, TableId

if TYPE_CHECKING:
    from datahub.configuration.common import AllowDenyPattern

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


@dataclass(frozen=True)
class EveryName:
    """What allows every name, without the import of DataHub's patterns."""

    deny: tuple[str, ...] = ()

    def allowed(self, _name: str, /) -> bool:
        """Return whether a name is allowed."""
        return True


@dataclass(frozen=True, kw_only=True)
class TableSelection:
    """The rules that select and name the tables of a source."""

    platform: str
    env: str
    instance: str | None = None
    names: str = "{table}"
    """Pattern of the tables' names in DataHub, built from `{database}`, `{schema}`, `{folder}` and
    `{table}`."""

    is_lower_case: bool = False
    """Whether the names are converted to lower case, except for the platform instance."""

    schemas: "AllowDenyPattern | EveryName" = EveryName()
    tables: "AllowDenyPattern | EveryName" = EveryName()
    """Tables to keep, as `schema.table` or by their path below the folder."""

    views: bool = True
    separate_files: bool = False
    """Whether each of several files that look like one table is a table."""

    dialect: Dialect = DEFAULT_DIALECT
    options: tuple[FileOptions, ...] = ()
    """What differs for files of some paths; of several whose pattern fits, the first holds."""

    key: str = "catalog"
    """The recipe key of the source, as in `connections[0]`."""

    def options_of(self, path: str) -> FileOptions:
        """Return what was said of the file with this path."""
        fitting = (each for each in self.options if each.fits(path))
        return next(fitting, FileOptions())

    def dialect_of(self, path: str) -> Dialect:
        """Return the dialect of the file with this path."""
        return self.options_of(path).of(self.dialect)

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


def naming_of(source: TableSource) -> tuple[str, str, bool]:
    """Return a source's platform, and pattern and lower case of names, by DataHub's connectors."""
    match source:
        case SparkCatalog():
            # Spark's own catalog; for another one the recipe has to set `platform`.
            return "hive", "{schema}.{table}", False
        case Database():
            from sqlalchemy import make_url  # noqa: PLC0415 (lakes of files need no database)

            from datahub_hyperjoin.spark.databases.system import system_of_url  # noqa: PLC0415

            system = system_of_url(make_url(source.url.get_secret_value()))
            return system.datahub_platform, system.table_names, system.has_lower_case_names
        case RemoteFolder():
            scheme = urlsplit(source.uri).scheme
            return _PLATFORMS.get(scheme, scheme), "{folder}/{table}", False
        case _:
            assert_never(source)


def name_in_excel(path: str, sheet: str) -> str:
    """Name a sheet as DataHub's source of the platform `excel` does.

    >>> name_in_excel("sales/2024.xlsx", "Orders")
    'sales/[2024.xlsx]Orders'
    """
    *folders, file = path.split("/")
    return "/".join([*folders, f"[{file}]{sheet.strip()}"])
