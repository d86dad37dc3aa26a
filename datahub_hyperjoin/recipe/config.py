"""The configuration of the HyperJoin source.

Each section is a dataclass of the package that uses it, so that every default, bound and
description is in one place. Unknown keys are refused at every level.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

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

from datahub_hyperjoin.catalog.config import CatalogConfig, ConnectionConfig
from datahub_hyperjoin.catalog.scope import FolderNames, PlatformInstance, Scope
from datahub_hyperjoin.catalog.table_selection import TableSelection
from datahub_hyperjoin.emit.config import EmitConfig, fill_for_agents
from datahub_hyperjoin.errors import CheckpointMismatchError, UnwritablePathError
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.config.sections import fill
from datahub_hyperjoin.model.saved.files import FILES, holds_model, obstacle_to_saving
from datahub_hyperjoin.spark.config import ProfileConfig, SessionConfig
from datahub_hyperjoin.storage import is_leftover, obstacle_to_page

# Error messages repeat keys and values.

_LONGEST_KEY = 200
_LONGEST_TEXT = 4_096
"""The greatest length of a path in Linux."""
_LONGEST_SETTING = 1 << 20
"""Maximum length of a Spark setting: class paths, for example, may be long. Error messages never
contain Spark settings."""


def refuse_long_texts(recipe: object) -> None:
    """Refuse a recipe with a key or text that is too long."""
    waiting = [("", recipe)]
    seen = set()  # YAML can write a list that contains itself
    while waiting:
        key, value = waiting.pop()
        longest = _LONGEST_SETTING if key.startswith("spark.settings.") else _LONGEST_TEXT
        if isinstance(value, str) and len(value) > longest:
            size = f"a text of {len(value)} characters; at most {longest} are allowed"
            message = f"the key `{key}` has {size}"
            raise ValueError(message)
        if isinstance(value, Mapping | list) and id(value) not in seen:
            seen.add(id(value))
            for name, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
                _check_key(key, str(name))
                waiting.append((f"{key}.{name}" if key else str(name), inner))


def _check_key(section: str, name: str) -> None:
    if len(name) > _LONGEST_KEY:
        message = (
            f"a key in `{section or 'config'}` has {len(name)} characters and begins with "
            f"{name[:20]!r}; at most {_LONGEST_KEY} are allowed. Remove it"
        )
        raise ValueError(message)


def _offer_datahub(catalog: dict[str, Any]) -> None:
    """Add the short form `catalog: datahub` to the JSON schema of `catalog`."""
    catalog["anyOf"] = [{"$ref": catalog.pop("$ref")}, {"const": "datahub"}]


class HyperJoinConfig(
    StatefulIngestionConfigBase[StatefulIngestionConfig],
    PlatformInstanceConfigMixin,
    EnvConfigMixin,
):
    """The section `source.config` of a recipe."""

    # Values may be secret, so errors name the key without its value.
    model_config = ConfigDict(use_attribute_docstrings=True, hide_input_in_errors=True)

    catalog: CatalogConfig = Field(default=CatalogConfig(), json_schema_extra=_offer_datahub)
    """The folder of tables to read, and the use of DataHub's catalog."""

    connections: list[ConnectionConfig] = Field(default=[])
    """Databases, Spark catalogs and remote folders whose tables are read in addition to those of
    `catalog.folder`."""

    spark: SessionConfig = SessionConfig()
    """The Spark session to start if none is active."""

    profile: ProfileConfig = ProfileConfig()
    """Limits on what is read of each table and kept in its profile."""

    # A factory: in the JSON schema, a default value would spell out the whole method.
    model: ModelConfig = Field(default_factory=ModelConfig)
    """The method: key columns, features, training and ranking."""

    emit: EmitConfig = EmitConfig()
    """The layers of metadata that are written to DataHub."""

    allow_literal_secrets: bool = False
    """Whether the recipe may contain passwords, keys and tokens as plain text. By default, they
    must be variables, as in `${SHOP_PASSWORD}`."""

    page: Path | None = None
    """File to write an HTML page of the joins to. By default, no page is written. A dry run never
    writes one."""

    page_values: bool = False
    """Whether the page shows up to five values of each joined column, and five without a partner.
    Personal columns, and columns that join with them, show none. Only the owner of the file can
    read a page with values. By default, the page shows names and counts only."""

    decisions: Path | None = None
    """CSV or JSON file of people's decisions about joins. Every run follows these decisions like
    those in DataHub. Readers of the page can download this file. By default, only DataHub has
    decisions."""

    # DataHub's own sources narrow the type in the same way.
    stateful_ingestion: StatefulStaleMetadataRemovalConfig | None = None  # pyright: ignore[reportIncompatibleVariableOverride]
    """Removes joins that an earlier run suggested and this run does not. Needs a
    `pipeline_name`."""

    @property
    def folder_instance(self) -> PlatformInstance:
        """The platform instance to which the tables of `catalog.folder` belong."""
        return PlatformInstance(
            platform=self.catalog.platform, env=self.env, instance=self.platform_instance
        )

    @property
    def folder_selection(self) -> TableSelection:
        """The rules that select and name the tables of `catalog.folder`."""
        return TableSelection(
            platform=self.catalog.platform,
            env=self.env,
            instance=self.platform_instance,
            names=self.catalog.names or "{table}",
            tables=self.catalog.tables,
            dialect=self.catalog.dialect,
            options=tuple(self.catalog.files),
            separate_files=self.catalog.separate_files,
        )

    @property
    def scope(self) -> Scope:
        """The part of the catalog that the recipe covers."""
        own, folder = self.folder_instance, self.catalog.folder
        stated = self.catalog.names is not None
        instances = [
            *([own] if folder else []),
            *(connection.instance for connection in self.connections),
            *([replace(own, platform="")] if self.catalog.described else []),
        ]
        return Scope(
            instances=tuple(dict.fromkeys(instances)),  # two connections may share one
            folder=FolderNames(folder=folder, instance=own, stated=stated) if folder else None,
            dataset_filter=self.catalog.dataset_filter,
            known_only=self.catalog.known_only,
            described=self.catalog.described,
            max_queries=self.catalog.queries,
            personal_tags=self.profile.personal_tags,
            namespace=self.emit.namespace,
            renamed=self.catalog.renamed_tables,
        )

    @property
    def connections_by_key(self) -> dict[str, ConnectionConfig]:
        """The recipe's connections, by their recipe keys, such as `connections[0]`."""
        return {f"connections[{index}]": each for index, each in enumerate(self.connections)}

    @property
    def kept_folders(self) -> dict[str, Path | None]:
        """The folders that only one run at a time can use, by recipe key."""
        return {"profile.store": self.profile.store, "model.path": self.model.path}

    @model_validator(mode="before")
    @classmethod
    def _refuse_long_texts(cls, written: object) -> object:
        refuse_long_texts(written)
        return written

    @model_validator(mode="after")
    def _refuse_to_read_nothing(self) -> Self:
        others = self.connections or self.catalog.described
        if not self.catalog.folder and (self.catalog.demo or not others):
            message = (
                "There are no tables to read. Set `catalog.folder` or `connections`, or "
                "`catalog: datahub` for suggestions by names"
            )
            raise ValueError(message)
        return self

    @field_validator("catalog", mode="before")
    @classmethod
    def _expand_short_catalog(cls, written: object) -> object:
        """Expand the short form `catalog: datahub` to `catalog: {described: true}`."""
        return {"described": True} if written == "datahub" else written

    @field_validator("emit", mode="before")
    @classmethod
    def _fill_for_agents(cls, written: object) -> object:
        """Switch on the kinds of metadata that `emit.agents` implies."""
        return fill_for_agents(written)

    @field_validator("model", mode="before")
    @classmethod
    def _fill_by_setting(cls, written: object) -> object:
        """Add the defaults of the chosen `model.setting` to the section `model`."""
        return fill(written) if isinstance(written, Mapping) else written

    @model_validator(mode="after")
    def _refuse_unwritable_paths(self) -> Self:
        """Refuse unwritable output paths before the run starts."""
        llm = self.model.llm
        paths: dict[str, tuple[Path | None, Callable[[Path], str]]] = {
            "catalog.folder": (self.catalog.folder if self.catalog.demo else None, _against_lake),
            "page": (self.page, _against_page),
            "profile.store": (self.profile.store, _against_keeping),
            "model.path": (self.model.path, _against_model),
            "model.llm.cache": (llm.cache if llm else None, _against_keeping),
        }
        for key, (path, find_obstacle) in paths.items():
            if path and (obstacle := obstacle_to(path, find_obstacle)):
                raise UnwritablePathError.because(key, str(path), reason=obstacle)
        return self

    @model_validator(mode="after")
    def _refuse_to_keep_values(self) -> Self:
        """Refuse a recipe that forbids saving values but saves some in a model or an HTML page."""
        if not self.profile.keep_values and self.page and self.page_values:
            message = (
                "`page_values` would keep values on the page, which `profile.keep_values` forbids. "
                "Remove `page_values`"
            )
            raise ValueError(message)
        features = self.model.features
        learns_values = features.values and not features.vectors
        if not self.profile.keep_values and self.model.path and learns_values:
            message = (
                "`model.path` would keep words of values, which `profile.keep_values` forbids. "
                "Remove `model.path`, or set `model.features.vectors` or "
                "`model.features.values: false`"
            )
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _refuse_a_start_without_model(self) -> Self:
        """Refuse a `model.start` folder that contains no model."""
        key, folder = "model.start", self.model.start
        if folder and not holds_model(folder):
            raise CheckpointMismatchError.without_model(key, str(folder))
        return self


def obstacle_to(path: Path, find: Callable[[Path], str]) -> str:
    """Return the obstacle that a search finds at a path, or why the system lets nobody search."""
    try:
        return find(path)
    except OSError as error:
        return f"the system reports: {error.strerror}"


def _against_lake(folder: Path) -> str:
    return "" if folder.exists() else _against_making(folder)


def obstacle_to_file(file: Path) -> str:
    """Return why an output file cannot be made; empty if it can."""
    return "it is a folder" if file.is_dir() else _against_making(file)


def _against_page(file: Path) -> str:
    return obstacle_to_file(file) or obstacle_to_page(file)


def _against_model(folder: Path) -> str:
    """Return the reason why a folder cannot store a model; empty if it can.

    Saving replaces the whole folder, so the folder may contain only a model.
    """
    if not folder.is_dir():
        return "it is not a folder" if folder.exists() else _against_making(folder)
    names = {entry.name for entry in folder.iterdir()}
    if others := {name for name in names - FILES if not is_leftover(name)}:
        return f"it holds {min(others)!r}, which is not part of a saved model"
    return obstacle_to_saving(folder)


def _against_keeping(folder: Path) -> str:
    if not folder.is_dir():
        return "it is not a folder" if folder.exists() else _against_making(folder)
    return "" if os.access(folder, os.W_OK | os.X_OK) else "it cannot be written to"


def _against_making(path: Path) -> str:
    nearest = next(folder for folder in path.absolute().parents if os.access(folder, os.F_OK))
    if not nearest.is_dir():
        return f"{nearest} is not a folder"
    return "" if os.access(nearest, os.W_OK | os.X_OK) else f"{nearest} cannot be written to"
