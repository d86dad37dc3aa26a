"""What a recipe may say.

The sections are the rooms' own dataclasses, so that a default, a bound and a description stand
in one place; unknown keys are refused at every level.
"""

import os
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
from typing_extensions import Self

from datahub_hyperjoin.catalog import Scope
from datahub_hyperjoin.emit.config import EmitConfig
from datahub_hyperjoin.errors import CheckpointMismatchError, UnwritablePathError
from datahub_hyperjoin.model.checkpoint import holds_model
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.files import FILES
from datahub_hyperjoin.model.settings import fill
from datahub_hyperjoin.spark.config import ProfileConfig, SessionConfig


class CatalogConfig(ConfigModel):
    """Which tables there are, and what the catalog knows of them."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    folder: Path
    """Folder that is scanned for tables, sub-folders included: files that end in .csv, .tsv or
    .parquet. Names that begin with a dot or an underscore are passed over."""

    platform: str = "file"
    """DataHub platform of the tables; with `platform_instance` and `env` it makes their urns, so
    give what the catalog already calls them."""

    tables: AllowDenyPattern = Field(
        default_factory=AllowDenyPattern.allow_all,
        description="Regular expressions, matched from the start of a table's path below "
        "`folder`, of the tables to read and to leave out.",
    )

    known_only: bool = True
    """With a DataHub server: leave out tables and columns that the catalog does not know, for which
    suggestions would make entries of their own. Without a server nothing is left out."""

    queries: NonNegativeInt = 1000
    """Most SQL queries of the catalog that are read for joins people write; the newest first, and
    0 reads none."""

    demo: bool = False
    """Write a lake of real tables into `folder` when it does not exist yet, in a dry run too: it
    needs tables to read. Needs the extra `demo`."""


class HyperJoinConfig(
    StatefulIngestionConfigBase[StatefulIngestionConfig],
    PlatformInstanceConfigMixin,
    EnvConfigMixin,
):
    """A recipe's `source.config`."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    catalog: CatalogConfig
    """Which tables there are, and what the catalog knows of them."""

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
        return Scope(
            platform=self.catalog.platform,
            env=self.env,
            instance=self.platform_instance,
            known_only=self.catalog.known_only,
            queries=self.catalog.queries,
            namespace=self.emit.namespace,
        )

    @field_validator("model", mode="before")
    @classmethod
    def _fill_by_setting(cls, written: object) -> object:
        """The setting that a recipe names gives the keys that it does not write."""
        return fill(written) if isinstance(written, Mapping) else written

    @model_validator(mode="after")
    def _refuse_unwritable_paths(self) -> Self:
        """What would fail once everything is computed fails before."""
        if self.catalog.demo:
            _refuse("catalog.folder", self.catalog.folder, _against_lake)
        if self.page:
            _refuse("page", self.page, _against_page)
        if self.model.path:
            _refuse("model.path", self.model.path, _against_model)
        if (llm := self.model.variants.llm) and llm.cache:
            _refuse("model.variants.llm.cache", llm.cache, _against_cache)
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


def _against_cache(folder: Path) -> str:
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
