"""Check, before the run reads anything, that the recipe's requirements are met."""

from datahub.ingestion.api.common import PipelineContext

from datahub_hyperjoin.catalog import check_folder
from datahub_hyperjoin.config import HyperJoinConfig
from datahub_hyperjoin.decision_file import read_decision_file
from datahub_hyperjoin.recipe.errors import StateWithoutServerError

_SERVER = "datahub"
"""The kind of state provider that keeps its state in a DataHub server."""


def check_requirements(config: HyperJoinConfig, ctx: PipelineContext) -> None:
    """Check that a run can use the folder, the decisions file and the state that it needs.

    Args:
        config: The recipe.
        ctx: The run, with its name and its server.

    Raises:
        FaultyDecisionsError: The file of people's decisions has malformed lines.
        MissingFolderError: The folder does not exist, and the run does not write it.
        StateWithoutServerError: Stateful ingestion is enabled, and lacks a server or a name.
    """
    catalog, state = config.catalog, config.stateful_ingestion
    # The run itself writes the demonstration lake.
    if catalog.folder and (catalog.folder.exists() or not catalog.demo):
        check_folder(catalog.folder)
    if config.decisions:
        read_decision_file(config.decisions)
    if not (state and state.enabled and state.state_provider):
        return
    if not ctx.pipeline_name:
        raise StateWithoutServerError.of_nobody()
    provider = state.state_provider
    own_server = (provider.config or {}).get("datahub_api")
    if provider.type == _SERVER and not (ctx.graph or own_server):
        raise StateWithoutServerError.nowhere()
