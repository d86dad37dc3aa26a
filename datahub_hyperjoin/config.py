"""What a recipe may say.

The sections are the rooms' own dataclasses, so that a default, a bound and a description stand
in one place; unknown keys are refused at every level.
"""

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
from pydantic import ConfigDict, Field

from datahub_hyperjoin.emit.config import EmitConfig
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
    """Write a lake of real tables into `folder` when it does not exist yet. Needs the extra
    `demo`."""


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
