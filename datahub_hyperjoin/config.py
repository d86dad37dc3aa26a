"""What a recipe may say.

The sections are the rooms' own dataclasses, so that a default, a bound and a description stand
in one place; unknown keys are refused at every level.
"""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from datahub.configuration.common import AllowDenyPattern, ConfigModel
from datahub.configuration.source_common import EnvConfigMixin, PlatformInstanceConfigMixin
from datahub.ingestion.source.state.stale_entity_removal_handler import (
    StatefulStaleMetadataRemovalConfig,
)
from datahub.ingestion.source.state.stateful_ingestion_base import (
    StatefulIngestionConfig,
    StatefulIngestionConfigBase,
)
from pydantic import ConfigDict, Field, NonNegativeInt, field_validator, model_validator
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError
from typing_extensions import Self

from datahub_hyperjoin.catalog import Among, Home, Scope, Selection, names_of, platform_of
from datahub_hyperjoin.emit.config import EmitConfig
from datahub_hyperjoin.errors import CheckpointMismatchError, UnwritablePathError
from datahub_hyperjoin.model.checkpoint import holds_model
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.files import FILES
from datahub_hyperjoin.model.settings import fill
from datahub_hyperjoin.places import Database
from datahub_hyperjoin.spark.config import ProfileConfig, SessionConfig

_NAMED = {"database", "schema", "table"}


class CatalogConfig(ConfigModel):
    """Which tables there are, and what the catalog knows of them."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    folder: Path | None = None
    """Folder that is scanned for tables, sub-folders included: files that end in .csv, .tsv,
    .jsonl, .parquet or .orc, and folders of such files that are one table. Names that begin with a
    dot or an underscore are passed over."""

    platform: str = "file"
    """DataHub platform of the folder's tables; with `platform_instance` and `env` it makes their
    urns, so give what the catalog already calls them."""

    tables: AllowDenyPattern = Field(
        default_factory=AllowDenyPattern.allow_all,
        description="Regular expressions, matched from the start of a table's path below "
        "`folder`, of the tables to read and to leave out.",
    )

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
    def among(self) -> Among:
        """What datasets must be filed under."""
        return Among(domains=self.domains, containers=self.containers, tags=self.tags)

    @model_validator(mode="after")
    def _refuse_to_take_unknown_tables_by_what_the_catalog_says(self) -> Self:
        if self.among and not self.known_only:
            message = "`domains`, `containers` and `tags` need `known_only: true`"
            raise ValueError(message)
        return self


class ConnectionConfig(PlatformInstanceConfigMixin, EnvConfigMixin):
    """A database whose tables are read, and what the catalog calls them."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    database: Database
    """Where it is, and how gently it is read."""

    platform: str | None = None
    """DataHub platform of its tables; the database's own without."""

    names: str | None = None
    """Pattern of its tables' names in the catalog, of `{database}`, `{schema}` and `{table}`;
    without it, as DataHub's own connectors name them."""

    schemas: AllowDenyPattern = Field(
        default_factory=AllowDenyPattern.allow_all,
        description="Regular expressions of the schemas to read and to leave out.",
    )

    tables: AllowDenyPattern = Field(
        default_factory=AllowDenyPattern.allow_all,
        description="Regular expressions of the tables to read and to leave out, matched from the "
        "start of `schema.table`.",
    )

    views: bool = True
    """Whether views are read, too."""

    @property
    def selection(self) -> Selection:
        """Which of its tables are read, and what they are called."""
        return Selection(
            platform=self.platform or platform_of(self.database),
            env=self.env,
            instance=self.platform_instance,
            names=self.names or names_of(self.database),
            schemas=self.schemas,
            tables=self.tables,
            views=self.views,
        )

    @property
    def home(self) -> Home:
        """Where its tables stand in the catalog."""
        chosen = self.selection
        return Home(platform=chosen.platform, env=chosen.env, instance=chosen.instance)

    @field_validator("database")
    @classmethod
    def _refuse_what_is_no_url(cls, database: Database) -> Database:
        try:
            make_url(database.url.get_secret_value())
        except (ArgumentError, ValueError):
            message = "`url` must be SQLAlchemy's, as in postgresql+psycopg2://reader@host/shop"
            raise ValueError(message) from None
        return database

    @field_validator("names")
    @classmethod
    def _refuse_names_that_tell_no_tables_apart(cls, names: str | None) -> str | None:
        if names is not None and set(re.findall(r"{(.*?)}", names)) - _NAMED:
            message = f"`names` is {names!r}; it may hold {{database}}, {{schema}} and {{table}}"
            raise ValueError(message)
        if names is not None and "{table}" not in names:
            message = f"`names` is {names!r}; without {{table}} all tables have one name"
            raise ValueError(message)
        return names


class HyperJoinConfig(
    StatefulIngestionConfigBase[StatefulIngestionConfig],
    PlatformInstanceConfigMixin,
    EnvConfigMixin,
):
    """A recipe's `source.config`."""

    # What a recipe holds may be secret: errors name the key and not its value.
    model_config = ConfigDict(use_attribute_docstrings=True, hide_input_in_errors=True)

    catalog: CatalogConfig = CatalogConfig()
    """Which tables there are, and what the catalog knows of them."""

    connections: list[ConnectionConfig] = Field(default=[])
    """Databases whose tables are read, beside those of `catalog.folder`."""

    spark: SessionConfig = SessionConfig()
    """Where Spark runs when no session is active yet."""

    profile: ProfileConfig = ProfileConfig()
    """How much of each table is read, and what is kept of it."""

    model: ModelConfig = ModelConfig()
    """How joins are learnt and ranked."""

    emit: EmitConfig = EmitConfig()
    """What is written into the catalog."""

    page: Path | None = None
    """File of the HTML page that shows what was found; without it none is written. A dry run
    writes none."""

    # Narrowed as DataHub's own sources do.
    stateful_ingestion: StatefulStaleMetadataRemovalConfig | None = None  # pyright: ignore[reportIncompatibleVariableOverride]
    """Takes back what an earlier run suggested and this one does not. Needs a `pipeline_name`."""

    @property
    def scope(self) -> Scope:
        """The part of the catalog that the recipe is about."""
        own = Home(platform=self.catalog.platform, env=self.env, instance=self.platform_instance)
        homes = [*([own] if self.catalog.folder else []), *(one.home for one in self.connections)]
        return Scope(
            homes=tuple(dict.fromkeys(homes)),  # two databases may stand in one
            among=self.catalog.among,
            known_only=self.catalog.known_only,
            queries=self.catalog.queries,
            namespace=self.emit.namespace,
        )

    @property
    def keyed(self) -> dict[str, ConnectionConfig]:
        """The connections, by their keys in the recipe."""
        return {f"connections[{place}]": one for place, one in enumerate(self.connections)}

    @model_validator(mode="after")
    def _refuse_to_read_nothing(self) -> Self:
        if not self.catalog.folder and (self.catalog.demo or not self.connections):
            message = "give `catalog.folder`, or `connections`: there is nothing to read without"
            raise ValueError(message)
        return self

    @field_validator("model", mode="before")
    @classmethod
    def _fill_by_setting(cls, written: object) -> object:
        """The setting that a recipe names gives the keys that it does not write."""
        return fill(written) if isinstance(written, Mapping) else written

    @model_validator(mode="after")
    def _refuse_unwritable_paths(self) -> Self:
        """What would fail once everything is computed fails before."""
        if self.catalog.demo and self.catalog.folder:
            _refuse("catalog.folder", self.catalog.folder, _against_lake)
        if self.page:
            _refuse("page", self.page, _against_page)
        if self.profile.store:
            _refuse("profile.store", self.profile.store, _against_keeping)
        if self.model.path:
            _refuse("model.path", self.model.path, _against_model)
        if (llm := self.model.variants.llm) and llm.cache:
            _refuse("model.variants.llm.cache", llm.cache, _against_keeping)
        return self

    @model_validator(mode="after")
    def _refuse_a_start_without_model(self) -> Self:
        """What training cannot start from fails before any table is read."""
        key, folder = "model.start", self.model.start
        if folder and not holds_model(folder):
            raise CheckpointMismatchError.without_model(key, str(folder))
        return self


def _refuse(key: str, path: Path, find_obstacle: Callable[[Path], str]) -> None:
    try:
        obstacle = find_obstacle(path)
    except OSError as error:
        obstacle = f"the system answers: {error.strerror}"
    if obstacle:
        raise UnwritablePathError.because(key, str(path), reason=obstacle)


def _against_lake(folder: Path) -> str:
    return "" if folder.exists() else _against_making(folder)


def _against_page(file: Path) -> str:
    return "it is a folder" if file.is_dir() else _against_making(file)


def _against_model(folder: Path) -> str:
    """A model replaces its whole folder, so nothing else may be in it."""
    if not folder.exists():
        return _against_making(folder)
    if not folder.is_dir():
        return "it is no folder"
    others = {entry.name for entry in folder.iterdir()} - FILES
    return f"it holds {min(others)!r}, which is no saved model's" if others else ""


def _against_keeping(folder: Path) -> str:
    if not folder.exists():
        return _against_making(folder)
    if not folder.is_dir():
        return "it is no folder"
    return "" if os.access(folder, os.W_OK | os.X_OK) else "it cannot be written to"


def _against_making(path: Path) -> str:
    nearest = next(place for place in path.absolute().parents if os.access(place, os.F_OK))
    if not nearest.is_dir():
        return f"{nearest} is no folder"
    return "" if os.access(nearest, os.W_OK | os.X_OK) else f"{nearest} cannot be written to"
