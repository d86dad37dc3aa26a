"""Configuration of the recipe sections `catalog` and `connections`."""

import re
from pathlib import Path

from datahub.configuration.common import AllowDenyPattern, ConfigModel
from datahub.configuration.source_common import EnvConfigMixin, PlatformInstanceConfigMixin
from datahub.utilities.urns.error import InvalidUrnError
from pydantic import ConfigDict, Field, field_validator, model_validator
from typing_extensions import Self

from datahub_hyperjoin.bounds import AmountOrZero
from datahub_hyperjoin.catalog.scope import DatasetFilter, PlatformInstance
from datahub_hyperjoin.catalog.table_selection import (
    OWN_CATALOG,
    TableSelection,
    naming_of,
)
from datahub_hyperjoin.locations import (
    Database,
    Dialect,
    FileOptions,
    FolderReader,
    ObjectStore,
    RemoteFolder,
    SparkCatalog,
    TableSource,
    check_store_uri,
    is_remote,
)
from datahub_hyperjoin.metadata.urns import table_id
from datahub_hyperjoin.tables import TableId
from datahub_hyperjoin.wording import join_with_and


class CatalogConfig(ConfigModel):
    """Settings for the local folder of tables and for DataHub's catalog."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    folder: Path | None = None
    """Local folder to scan for tables, including its subfolders. A table is a file with the
    extension .csv, .tsv, .fwf, .json, .jsonl, .parquet, .orc or .avro, or a folder of such files; a
    table in a database file (.sqlite, .sqlite3, .db, .duckdb), which is opened for reading only; or
    a sheet of a workbook (.xlsx, .xlsm, .xlsb, .xls, .ods), which needs the extra `excel`. Names
    that begin with a dot or an underscore are ignored."""

    platform: str = "file"
    """DataHub platform of the folder's tables. Together with `platform_instance` and `env` it forms
    their URNs, so set it to the platform under which the catalog already lists the tables."""

    names: str | None = None
    """Pattern of the tables' names in DataHub, as in `mnt/lake/{table}`; `{table}` is the path of a
    table below `folder`. By default, tables are matched with datasets by the ends of their paths
    and by their columns, and the report asks for the pattern if several datasets are possible."""

    tables: AllowDenyPattern = Field(
        default_factory=AllowDenyPattern.allow_all,
        description="Regular expressions for the tables of `folder` to read (`allow`) and to skip "
        "(`deny`), matched from the start of the path below `folder`.",
    )

    dialect: Dialect = Dialect()
    """Format of the folder's delimited text files. Set it where automatic detection is wrong."""

    files: list[FileOptions] = Field(default=[])
    """Options of the files whose path below `folder` fits a `pattern`: `delimiter`, `encoding`,
    `header: false` for files without column names, and the `sheet` of workbooks. Of several whose
    pattern fits, the first holds; what it leaves out is as in `dialect`."""

    separate_files: bool = False
    """Whether files are tables of their own if their names differ only in numbers or dates, and
    their columns are equal. By default, they are one table."""

    follow_links: bool = False
    """Whether to follow symbolic links from `folder` to files outside of `folder`. Links to folders
    are never followed."""

    described: bool = False
    """Whether to suggest joins also for datasets that the recipe does not read, from names and from
    DataHub's metadata. These suggestions are marked as not verified on data. `catalog: datahub`
    turns this on, and needs neither a folder nor a connection."""

    known_only: bool = True
    """Skip tables and columns that the catalog does not know; suggestions for them would create new
    entities. Has no effect without a DataHub server."""

    domains: list[str] = Field(default=[])
    """Read only datasets in one of these domains, given by URN or ID. Needs a DataHub server."""

    containers: list[str] = Field(default=[])
    """Read only datasets in one of these containers, given by URN or ID, at any level. Needs a
    DataHub server."""

    tags: list[str] = Field(default=[])
    """Read only datasets with one of these tags, given by URN or name. Needs a DataHub server."""

    renamed: dict[str, str] = Field(default={})
    """New names of renamed tables: the URN of the new dataset by the URN of the old one. People's
    decisions about the old table then hold for the new one. Most renamed tables are recognised
    without it; the report asks for the others."""

    queries: AmountOrZero = 1000
    """Maximum number of SQL queries read from the catalog, newest first, to count which columns
    people join. Raise it for catalogs with many queries; parsing takes some milliseconds per query.
    0 reads none."""

    demo: bool = False
    """Write a small data lake of real tables into `folder` if the folder does not exist, also in a
    dry run. Needs the extra `demo`."""

    @property
    def dataset_filter(self) -> DatasetFilter:
        """The dataset filter that `domains`, `containers` and `tags` define."""
        return DatasetFilter(domains=self.domains, containers=self.containers, tags=self.tags)

    @property
    def renamed_tables(self) -> dict[TableId, TableId]:
        """A map from the old name of each renamed table to the new name."""
        return {table_id(old): table_id(new) for old, new in self.renamed.items()}

    @field_validator("names")
    @classmethod
    def _refuse_names_without_table(cls, names: str | None) -> str | None:
        if names is not None:
            _refuse_other_names(names, ["{table}"])
        # DataHub's connectors write no slash before a path.
        return names and names.lstrip("/")

    @field_validator("renamed")
    @classmethod
    def _refuse_other_entities(cls, renamed: dict[str, str]) -> dict[str, str]:
        try:
            for urn in (*renamed, *renamed.values()):
                table_id(urn)
        except InvalidUrnError as error:
            message = (
                f"`renamed` names something that is not the URN of a dataset: {error}. Copy the "
                "URNs from DataHub's pages or from the report"
            )
            raise ValueError(message) from None
        return renamed

    @model_validator(mode="after")
    def _refuse_a_filter_of_unknown_tables(self) -> Self:
        if self.dataset_filter and not self.known_only:
            message = (
                "`domains`, `containers` and `tags` need `known_only: true`. Set it, or remove the "
                "filter"
            )
            raise ValueError(message)
        return self


class ConnectionConfig(PlatformInstanceConfigMixin, EnvConfigMixin):
    """Settings for reading tables from a database, a Spark catalog or a remote folder."""

    # Values of a recipe may be secret, so errors show the key only.
    model_config = ConfigDict(use_attribute_docstrings=True, hide_input_in_errors=True)

    database: Database | None = None
    """A database, and limits on the load that reading puts on it."""

    spark_catalog: str | None = None
    """Name of a Spark catalog: `spark_catalog`, which is Hive's metastore if Spark has one, or a
    catalog that `spark.settings` define as `spark.sql.catalog.<name>` (Iceberg, Delta or a database
    over JDBC)."""

    folder: str | None = None
    """URI of a folder in an object store, as in `s3://lake/sales`, or in another file system that
    Spark reaches through `spark.settings`, as in `s3a://lake/sales`. Tables are recognised as in
    `catalog.folder`; empty files are ignored."""

    reader: FolderReader | None = None
    """The reader of the folder: `arrow` or `spark`. `arrow` reads `s3://`, `gs://`, `abfs://` and
    `abfss://`; it needs no jars, and no Spark for small lakes. `spark` reads the file systems that
    `spark.settings` configure. Default: `arrow` for `s3://`, else `spark`."""

    endpoint: str = ""
    """URL of a store other than Amazon's that speaks S3, as in `http://minio:9000`. Default:
    `AWS_ENDPOINT_URL` in the environment. Credentials are always taken from the environment."""

    region: str = ""
    """Region of an S3 bucket. By default, Amazon is asked."""

    platform: str | None = None
    """DataHub platform of the tables. By default, it is the platform of the database or of the
    folder's file system, and `hive` for `spark_catalog`. Required for other Spark catalogs."""

    names: str | None = None
    """Pattern of the tables' names in DataHub, built from `{database}`, `{schema}` and `{table}`,
    or for a folder from `{folder}` and `{table}`. Default: the names that DataHub's own connectors
    use. Set it if the catalog names the tables differently."""

    schemas: AllowDenyPattern = Field(
        default_factory=AllowDenyPattern.allow_all,
        description="Regular expressions for the schemas to read (`allow`) and to skip (`deny`).",
    )

    tables: AllowDenyPattern = Field(
        default_factory=AllowDenyPattern.allow_all,
        description="Regular expressions for the tables to read (`allow`) and to skip (`deny`), "
        "matched from the start of `schema.table` or of the path below the folder.",
    )

    views: bool = True
    """Whether views are read. Set it to `false` if views are expensive to compute."""

    dialect: Dialect = Dialect()
    """Format of the folder's delimited text files. Set it where automatic detection is wrong."""

    files: list[FileOptions] = Field(default=[])
    """Options of the files whose path below `folder` fits a `pattern`: `delimiter`, `encoding`,
    `header: false` for files without column names, and the `sheet` of workbooks. Of several whose
    pattern fits, the first holds; what it leaves out is as in `dialect`."""

    separate_files: bool = False
    """Whether files are tables of their own if their names differ only in numbers or dates, and
    their columns are equal. By default, they are one table."""

    @property
    def source(self) -> TableSource:
        """The database, Spark catalog or remote folder that contains the tables."""
        if self.database:
            return self.database
        if self.spark_catalog:
            return SparkCatalog(name=self.spark_catalog)
        uri = str(self.folder)
        if not self._is_read_by_arrow:
            return RemoteFolder(uri=uri)
        store = ObjectStore.of_environment(endpoint=self.endpoint, region=self.region)
        return RemoteFolder(uri=uri, store=store)

    @property
    def _is_read_by_arrow(self) -> bool:
        return self.reader is FolderReader.ARROW or (
            self.reader is None and str(self.folder).startswith("s3://")
        )

    @property
    def selection(self) -> TableSelection:
        """The rules that select and name the tables of this connection."""
        platform, names, is_lower_case = naming_of(self.source)
        return TableSelection(
            platform=self.platform or platform,
            env=self.env,
            instance=self.platform_instance,
            names=self.names or names,
            is_lower_case=not self.names and is_lower_case,
            schemas=self.schemas,
            tables=self.tables,
            views=self.views,
            dialect=self.dialect,
            options=tuple(self.files),
            separate_files=self.separate_files,
        )

    @property
    def instance(self) -> PlatformInstance:
        """The platform instance to which the connection's tables belong."""
        selection = self.selection
        return PlatformInstance(
            platform=selection.platform, env=selection.env, instance=selection.instance
        )

    @field_validator("database")
    @classmethod
    def _refuse_an_invalid_url(cls, database: Database | None) -> Database | None:
        if database is None:
            return None
        from sqlalchemy import make_url  # noqa: PLC0415 (lakes of files need no database)
        from sqlalchemy.exc import ArgumentError  # noqa: PLC0415

        try:
            make_url(database.url.get_secret_value())
        except (ArgumentError, ValueError):
            form = "postgresql+psycopg2://reader@host/shop"
            message = f"`url` is not an SQLAlchemy URL. Write it as in {form}"
            raise ValueError(message) from None
        return database

    @field_validator("folder")
    @classmethod
    def _refuse_a_local_folder(cls, folder: str | None) -> str | None:
        if folder is not None and not is_remote(folder):
            message = (
                f"`folder` is {folder!r}, which is not a URI. Write it as in s3a://lake/sales, or "
                "set `catalog.folder` for a local folder"
            )
            raise ValueError(message)
        return folder

    @model_validator(mode="after")
    def _refuse_other_than_one_source(self) -> Self:
        if sum(map(bool, (self.database, self.spark_catalog, self.folder))) != 1:
            message = "a connection needs exactly one of `database`, `spark_catalog` and `folder`"
            raise ValueError(message)
        if self.spark_catalog not in {None, OWN_CATALOG} and not self.platform:
            message = (
                f"`platform` is missing. Set it to the DataHub platform of the tables in the Spark "
                f"catalog `{self.spark_catalog}`"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _refuse_what_arrow_cannot_read(self) -> Self:
        if (self.reader or self.endpoint or self.region) and not self.folder:
            message = "`reader`, `endpoint` and `region` belong to a `folder`. Remove them"
            raise ValueError(message)
        if (self.endpoint or self.region) and not str(self.folder).startswith("s3://"):
            message = "`endpoint` and `region` need a `folder` as in s3://lake/sales"
            raise ValueError(message)
        if self.folder and self._is_read_by_arrow:
            check_store_uri(self.folder)
        return self

    @model_validator(mode="after")
    def _refuse_ambiguous_names(self) -> Self:
        parts = ["{folder}"] if self.folder else ["{database}", "{schema}"]
        if self.names is not None:
            _refuse_other_names(self.names, [*parts, "{table}"])
        return self


def _refuse_other_names(names: str, parts: list[str]) -> None:
    """Refuse a name pattern without `{table}` or with unknown placeholders."""
    if set(re.findall(r"{.*?}", names)).difference(parts):
        message = f"`names` is {names!r}. Use only {join_with_and(parts)} in it"
        raise ValueError(message)
    if "{table}" not in names:
        message = f"`names` is {names!r}. Add {{table}}: without it all tables share a name"
        raise ValueError(message)
