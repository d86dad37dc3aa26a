"""Open the recipe that a command names."""

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

if TYPE_CHECKING:
    from datahub_hyperjoin.source import HyperJoinSource

_SOURCE, _REST = "hyperjoin", "datahub-rest"


def open_recipe(recipe: Path) -> "HyperJoinSource":
    """Create the ingestion source of a recipe, connected to the recipe's DataHub server."""
    from datahub.configuration.common import ConfigurationError  # noqa: PLC0415
    from datahub.configuration.config_loader import load_config_file  # noqa: PLC0415
    from datahub.ingestion.run.pipeline import Pipeline, PipelineInitError  # noqa: PLC0415

    try:
        written = load_config_file(recipe)
        if written.get("source", {}).get("type") != _SOURCE:
            message = f"{recipe}: `source.type` is not {_SOURCE}. Name a recipe of this source"
            raise click.ClickException(message)
        # A file sink replaces its file when it is closed, even by nothing.
        if written.get("sink", {}).get("type", _REST) != _REST:
            written["sink"] = {"type": "blackhole"}
        pipeline = Pipeline.create(written, dry_run=True, report_to=None, no_progress=True)
    except (ConfigurationError, PipelineInitError, ValueError) as error:
        message = f"{recipe}: {error}"
        raise click.ClickException(message) from error
    pipeline.sink.close()
    return cast("HyperJoinSource", pipeline.source)
