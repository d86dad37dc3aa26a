"""What a recipe may say.

The sections are the rooms' own dataclasses, so that a default, a bound and a description stand
in one place; unknown keys are refused at every level.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from datahub.configuration.source_common import EnvConfigMixin, PlatformInstanceConfigMixin
from datahub.ingestion.source.state.stale_entity_removal_handler import (
    StatefulStaleMetadataRemovalConfig,
)
from datahub.ingestion.source.state.stateful_ingestion_base import (
    StatefulIngestionConfig,
    StatefulIngestionConfigBase,
)
from pydantic import ConfigDict, Field, field_validator, model_validator
from typing_extensions import Self

from datahub_hyperjoin.catalog import CatalogConfig, ConnectionConfig, PlatformInstance, Scope
from datahub_hyperjoin.emit.config import EmitConfig
from datahub_hyperjoin.errors import CheckpointMismatchError, UnwritablePathError
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.config.paper import fill
from datahub_hyperjoin.model.saved.checkpoint import holds_model
from datahub_hyperjoin.model.saved.files import FILES
from datahub_hyperjoin.spark.config import ProfileConfig, SessionConfig


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
    """Databases, catalogs of Spark's and folders elsewhere whose tables are read, beside those of
    `catalog.folder`."""

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
        own = PlatformInstance(
            platform=self.catalog.platform, env=self.env, instance=self.platform_instance
        )
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
