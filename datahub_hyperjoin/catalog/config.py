"""What a recipe may say of where tables are."""

import re
from pathlib import Path

from datahub.configuration.common import AllowDenyPattern, ConfigModel
from datahub.configuration.source_common import EnvConfigMixin, PlatformInstanceConfigMixin
from pydantic import ConfigDict, Field, NonNegativeInt, field_validator, model_validator
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError
from typing_extensions import Self

from datahub_hyperjoin.catalog.dataset_filter import DatasetFilter
from datahub_hyperjoin.catalog.datasets import PlatformInstance
from datahub_hyperjoin.catalog.table_selection import (
    OWN_CATALOG,
    TableSelection,
    names_of,
    platform_of,
)
from datahub_hyperjoin.locations import (
    Database,
    Dialect,
    RemoteFolder,
    SparkCatalog,
    TableSource,
    is_remote,
)


class CatalogConfig(ConfigModel):
    """Which tables there are, and what the catalog knows of them."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    folder: Path | None = None
    """Folder that is scanned for tables, sub-folders included: files that end in .csv, .tsv,
    .jsonl, .parquet, .orc or .avro, and folders of such files that are one table. Names that begin
    with a dot or an underscore are passed over."""

    platform: str = "file"
    """DataHub platform of the folder's tables; with `platform_instance` and `env` it makes their
    urns, so give what the catalog already calls them."""

    tables: AllowDenyPattern = Field(
        default_factory=AllowDenyPattern.allow_all,
        description="Regular expressions, matched from the start of a table's path below "
        "`folder`, of the tables to read and to leave out.",
    )

    dialect: Dialect = Dialect()
    """How the folder's files of delimited text are written, where they do not tell."""

    known_only: bool = True
    """With a DataHub server: leave out tables and columns that the catalog does not know, for which
    suggestions would make entries of their own. Without a server nothing is left out."""

    domains: list[str] = Field(default=[])
    """With a DataHub server: only datasets of one of these domains, by urn or id."""

    containers: list[str] = Field(default=[])
    """With a DataHub server: only datasets in one of these containers, by urn or id, however far
    below."""

    tags: list[str] = Field(default=[])
    """With a DataHub server: only datasets that have one of these tags, by urn or name."""

    queries: NonNegativeInt = 1000
    """Most SQL queries of the catalog that are read for joins people write; the newest first, and
    0 reads none."""

    demo: bool = False
    """Write a lake of real tables into `folder` when it does not exist yet, in a dry run too: it
    needs tables to read. Needs the extra `demo`."""

    @property
    def among(self) -> DatasetFilter:
        """What datasets must be filed under."""
        return DatasetFilter(domains=self.domains, containers=self.containers, tags=self.tags)

    @model_validator(mode="after")
    def _refuse_to_take_unknown_tables_by_what_the_catalog_says(self) -> Self:
        if self.among and not self.known_only:
            message = "`domains`, `containers` and `tags` need `known_only: true`"
            raise ValueError(message)
        return self


class ConnectionConfig(PlatformInstanceConfigMixin, EnvConfigMixin):
    """Where tables are read, and what DataHub calls them."""

    # What a recipe holds may be secret: errors name the key and not its value.
    model_config = ConfigDict(use_attribute_docstrings=True, hide_input_in_errors=True)

    database: Database | None = None
    """A database, and how gently it is read."""

    spark_catalog: str | None = None
    """A catalog of Spark's: `spark_catalog`, which is Hive's where there is one, or any that
    `spark.settings` define as `spark.sql.catalog.<name>`, of Iceberg, Delta or a database by
    JDBC."""

    folder: str | None = None
    """A folder in a file system that `spark.settings` let Spark reach, as in `s3a://lake/sales`.
    Its tables are those that a `catalog.folder` would have; files without a byte are passed
    over."""

    platform: str | None = None
    """DataHub platform of the tables; without it that of the database, `hive` for `spark_catalog`,
    and for a folder that of its file system. Required for other catalogs of Spark's."""

    names: str | None = None
    """Pattern of the tables' names in the catalog, of `{database}`, `{schema}` and `{table}`, and
    for a folder of `{folder}` and `{table}`; without it, as DataHub's own connectors name them."""

    schemas: AllowDenyPattern = Field(
        default_factory=AllowDenyPattern.allow_all,
        description="Regular expressions of the schemas to read and to leave out.",
    )

    tables: AllowDenyPattern = Field(
        default_factory=AllowDenyPattern.allow_all,
        description="Regular expressions of the tables to read and to leave out, matched from the "
        "start of `schema.table`, or of the path below the folder.",
    )

    views: bool = True
    """Whether views are read, too."""

    dialect: Dialect = Dialect()
    """How a folder's files of delimited text are written, where they do not tell."""

    @property
    def source(self) -> TableSource:
        """Where the tables are."""
        if self.database:
            return self.database
        if self.spark_catalog:
            return SparkCatalog(name=self.spark_catalog)
        return RemoteFolder(location=str(self.folder))

    @property
    def selection(self) -> TableSelection:
        """Which of the tables are read, and what they are called."""
        return TableSelection(
            platform=self.platform or platform_of(self.source),
            env=self.env,
            instance=self.platform_instance,
            names=self.names or names_of(self.source),
            schemas=self.schemas,
            tables=self.tables,
            views=self.views,
            dialect=self.dialect,
        )

    @property
    def home(self) -> PlatformInstance:
        """Where the tables stand in DataHub."""
        chosen = self.selection
        return PlatformInstance(platform=chosen.platform, env=chosen.env, instance=chosen.instance)

    @field_validator("database")
    @classmethod
    def _refuse_what_is_no_url(cls, database: Database | None) -> Database | None:
        try:
            if database:
                make_url(database.url.get_secret_value())
        except (ArgumentError, ValueError):
            message = "`url` must be SQLAlchemy's, as in postgresql+psycopg2://reader@host/shop"
            raise ValueError(message) from None
        return database

    @field_validator("folder")
    @classmethod
    def _refuse_what_is_no_uri(cls, folder: str | None) -> str | None:
        if folder is not None and not is_remote(folder):
            message = (
                f"`folder` is {folder!r}; give a URI, as s3a://lake/sales, or `catalog.folder`"
            )
            raise ValueError(message)
        return folder

    @model_validator(mode="after")
    def _refuse_other_than_one_place(self) -> Self:
        given = [one for one in (self.database, self.spark_catalog, self.folder) if one]
        if len(given) != 1:
            message = "give one of `database`, `spark_catalog` and `folder`"
            raise ValueError(message)
        if self.spark_catalog not in {None, OWN_CATALOG} and not self.platform:
            message = (
                f"give `platform`: what DataHub calls where `{self.spark_catalog}` has its tables"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _refuse_names_that_tell_no_tables_apart(self) -> Self:
        known = ["{folder}"] if self.folder else ["{database}", "{schema}"]
        if self.names is None:
            return self
        if set(re.findall(r"{.*?}", self.names)) - {*known, "{table}"}:
            message = f"`names` is {self.names!r}; it may hold {', '.join(known)} and {{table}}"
            raise ValueError(message)
        if "{table}" not in self.names:
            message = f"`names` is {self.names!r}; without {{table}} all tables have one name"
            raise ValueError(message)
        return self
