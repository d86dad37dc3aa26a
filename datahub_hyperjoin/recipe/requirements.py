"""Check that a run has its folder, file of decisions and server before it reads anything."""

from collections.abc import Callable, Iterator
from functools import partial

from datahub.ingestion.api.common import PipelineContext

from datahub_hyperjoin.catalog.errors import MissingServerError
from datahub_hyperjoin.catalog.folders import check_folder
from datahub_hyperjoin.decision_file import read_decision_file
from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.model.config.sections import require_extras
from datahub_hyperjoin.progress import Warn, warn_nobody
from datahub_hyperjoin.recipe.config import HyperJoinConfig
from datahub_hyperjoin.recipe.errors import StateWithoutServerError

_SERVER = "datahub"
"""The kind of state provider that keeps its state in a DataHub server."""


def check_requirements(config: HyperJoinConfig, ctx: PipelineContext) -> None:
    """Check that a run can use the folder, the file of decisions and the server that it needs.

    Args:
        config: The recipe.
        ctx: The run, with its name and its server.

    Raises:
        FaultyDecisionsError: The file of people's decisions cannot be read.
        MissingExtraError: A package that the recipe needs is not installed.
        MissingFolderError: The folder does not exist, and the run does not write it.
        MissingServerError: The recipe takes or chooses tables from a DataHub server, and has none.
        StateWithoutServerError: Stateful ingestion is enabled, and lacks a server or a name.
    """
    for error in unmet_requirements(config, ctx.pipeline_name, has_server=bool(ctx.graph)):
        raise error


def unmet_requirements(
    config: HyperJoinConfig,
    pipeline_name: str | None,
    *,
    has_server: bool,
    warn: Warn = warn_nobody,
) -> Iterator[HyperJoinError]:
    """Check the same as `check_requirements`, but yield all errors instead of raising the first.

    Args:
        config: The recipe.
        pipeline_name: The recipe's name.
        has_server: Whether the run has a DataHub server.
        warn: Receives damaged lines of the file of decisions.

    Yields:
        The errors.
    """
    checks = (
        partial(require_extras, config.model),
        partial(_check_folder, config),
        partial(_check_decisions, config, warn),
        partial(_check_catalog, config, has_server=has_server),
        partial(_check_state, config, pipeline_name, has_server=has_server),
    )
    yield from filter(None, map(_error_of, checks))


def _error_of(check: Callable[[], None]) -> HyperJoinError | None:
    try:
        check()
    except HyperJoinError as error:
        return error
    return None


def _check_folder(config: HyperJoinConfig) -> None:
    folder = config.catalog.folder
    # The run itself writes the demonstration lake.
    if folder and (folder.exists() or not config.catalog.demo):
        check_folder(folder)


def _check_decisions(config: HyperJoinConfig, warn: Warn) -> None:
    if config.decisions:
        read_decision_file(config.decisions, warn)


def _check_catalog(config: HyperJoinConfig, *, has_server: bool) -> None:
    if config.catalog.dataset_filter and not has_server:
        raise MissingServerError.to_choose_datasets()
    if config.catalog.described and not has_server:
        raise MissingServerError.to_describe_tables()


def _check_state(config: HyperJoinConfig, pipeline_name: str | None, *, has_server: bool) -> None:
    state = config.stateful_ingestion
    if not (state and state.enabled and state.state_provider):
        return
    if not pipeline_name:
        raise StateWithoutServerError.of_nobody()
    provider = state.state_provider
    own_server = (provider.config or {}).get("datahub_api")
    if provider.type == _SERVER and not (has_server or own_server):
        raise StateWithoutServerError.nowhere()
