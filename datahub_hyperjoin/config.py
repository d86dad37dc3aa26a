"""What a recipe may say.

The sections are the rooms' own dataclasses, so that a default, a bound and a description stand
in one place; unknown keys are refused at every level.
"""

import os
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
from pydantic import ConfigDict, Field, model_validator
from typing_extensions import Self

from datahub_hyperjoin.emit.config import EmitConfig
from datahub_hyperjoin.errors import UnwritablePathError
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.spark.config import ProfileConfig, SessionConfig


class CatalogConfig(ConfigModel):
    """Which tables there are."""

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
    """Which tables there are."""

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
    """Removes the relationships that an earlier run suggested and this one does not."""

    @model_validator(mode="after")
    def _refuse_unwritable_paths(self) -> Self:
        """What would fail once everything is computed fails before."""
        folder = self.catalog.folder
        if self.catalog.demo and not folder.exists():
            _refuse("catalog.folder", folder, _obstacle(folder))
        if self.page:
            _refuse("page", self.page, "it is a folder" if self.page.is_dir() else "")
            _refuse("page", self.page, _obstacle(self.page))
        if self.model.path:
            _refuse("model.path", self.model.path, _occupied(self.model.path))
            _refuse("model.path", self.model.path, _obstacle(self.model.path))
        return self


def _refuse(key: str, path: Path, reason: str) -> None:
    if reason:
        raise UnwritablePathError.because(key, str(path), reason=reason)


def _obstacle(path: Path) -> str:
    """What keeps a path from being made; nothing, most often."""
    nearest = next(place for place in path.absolute().parents if os.access(place, os.F_OK))
    if not nearest.is_dir():
        return f"{nearest} is no folder"
    return "" if os.access(nearest, os.W_OK | os.X_OK) else f"{nearest} cannot be written to"


def _occupied(folder: Path) -> str:
    """What keeps a folder from being a model's: a model replaces the whole folder."""
    if not folder.exists() or folder.joinpath("model.json").is_file():
        return ""
    if not folder.is_dir():
        return "it is no folder"
    return "it holds files that are no saved model" if any(folder.iterdir()) else ""
