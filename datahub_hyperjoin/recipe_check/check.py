"""Check a recipe, and list all its faults in the order in which a run would meet them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from datahub.ingestion.graph.config import DatahubClientConfig
from datahub.ingestion.sink.file import FileSinkConfig
from pydantic import BaseModel, ValidationError
from typing_extensions import LiteralString

from datahub_hyperjoin.catalog.read import read_known
from datahub_hyperjoin.emit.expected_records import LakeSize
from datahub_hyperjoin.errors import HyperJoinError, LiteralSecretError
from datahub_hyperjoin.locations import Database
from datahub_hyperjoin.recipe import read_recipe, unmet_requirements
from datahub_hyperjoin.recipe.config import HyperJoinConfig
from datahub_hyperjoin.recipe.errors import RefusedRecipeError
from datahub_hyperjoin.recipe.secrets import find_literal_secrets
from datahub_hyperjoin.recipe_check.datahub_keys import (
    faults_in_datahub_keys,
    is_of_other_source,
    names_server,
    sink_config,
)
from datahub_hyperjoin.recipe_check.description import (
    describe_reading,
    describe_records,
    describe_writing,
)
from datahub_hyperjoin.recipe_check.errors import UnusableServerError
from datahub_hyperjoin.recipe_check.file import WrittenRecipe, read_recipe_file
from datahub_hyperjoin.recipe_check.reachability import (
    database_fault,
    file_fault,
    owner_of_token,
    reading_server,
)
from datahub_hyperjoin.scan import FOLDER_KEY, Listing, list_by_key
from datahub_hyperjoin.spark.profiles.routes import may_need_spark
from datahub_hyperjoin.spark.session import find_java, lazy_session
from datahub_hyperjoin.tables import Table

_SECTION, _SINK, _API = "source.config", "sink.config", "datahub_api"
_DEFAULT = "gms"
"""The section of `~/.datahubenv` that names the server for recipes without a `sink`."""

Settings = Callable[[], DatahubClientConfig]
"""Returns the server that DataHub uses for a recipe without a sink."""


@dataclass
class RecipeCheck:
    """The result of checking a recipe: its faults, or what its run would read and write."""

    problems: list[str] = field(default_factory=list)
    """A sentence for each fault that prevents the run or a part of it."""

    warnings: list[str] = field(default_factory=list)
    """A sentence for each problem that does not prevent the run, such as a file that is not read.
    """

    description: list[str] = field(default_factory=list)
    """What the run would read and write; empty if there are problems."""

    def warn(self, title: LiteralString, message: LiteralString, context: str) -> None:
        """Store a warning that occurs while the tables are listed.

        Args:
            title: The kind of problem.
            message: Its effect, and the fix; the guide to troubleshooting has it, too.
            context: The files concerned.
        """
        del message
        self.warnings.append(f"{title}: {context}")


def check_recipe(path: Path, settings: Settings) -> RecipeCheck:
    """Check a recipe, its servers, folder and databases, and the files that its run would write.

    Nothing is written. Tables are listed; of files under other names in DataHub, headers are read.

    Args:
        path: The recipe.
        settings: Returns the settings of the command `datahub`, for a recipe without a sink.

    Returns:
        All problems; no text contains a secret.
    """
    check = RecipeCheck()
    try:
        recipe = read_recipe_file(path)
    except HyperJoinError as error:
        check.problems.append(str(error))
        return check
    config = _check_keys(recipe, check)
    servers = dict(_servers_of(recipe, settings, check))
    owners = {each.server: _check_server(key, each, check) for key, each in servers.items()}
    _check_sink(recipe, check)
    if config is None:
        return check
    listings = _check_tables(config, recipe, check)
    tables = [table for listed, _ in listings.values() for table in listed]
    size = LakeSize(tables=len(tables))
    # Of the servers, a run reads the first.
    if servers and all(owners.values()) and (tables or config.catalog.described):
        size = _check_datasets(config, next(iter(servers.values())), tables, check)
    if not check.problems:
        check.description = [
            describe_reading(config, listings, owners),
            describe_writing(config, recipe.resolved, owners),
            *describe_records(config, recipe.resolved, size),
        ]
    return check


def _check_keys(recipe: WrittenRecipe, check: RecipeCheck) -> HyperJoinConfig | None:
    """Check the keys, and return the configuration; None if the recipe is faulty or incomplete."""
    check.problems += recipe.unset.values()
    check.problems += _about_others(faults_in_datahub_keys(recipe.resolved), recipe.unset)
    source = recipe.resolved.get("source")
    if not isinstance(source, Mapping) or is_of_other_source(str(source.get("type"))):
        return None
    settings = source.get("config")
    if not isinstance(settings, Mapping):
        check.problems.append(
            f"`{_SECTION}` is missing. Add it, with `catalog.folder` or `connections` below it"
        )
        return None
    try:
        config = read_recipe(settings)
    except RefusedRecipeError as error:
        faults = _about_others(error.faults, recipe.unset)
        check.problems += [f"`{_SECTION}`: {fault}" for fault in faults]
        return None
    secrets = find_literal_secrets(recipe.written["source"]["config"])
    if secrets and not config.allow_literal_secrets:
        check.problems.append(str(LiteralSecretError.in_keys(secrets)))
    return config if recipe.has_values_of(_SECTION) else None


def _about_others(faults: Iterable[str], keys: Collection[str]) -> list[str]:
    """Return the faults that mention none of `keys`.

    The values of these keys contain variables that could not be replaced.
    """
    in_section = (key.removeprefix(f"{name}.") for key in keys for name in (_SECTION, _SINK))
    names = {f"`{key}`" for key in (*keys, *in_section)}
    return [fault for fault in faults if not any(name in fault for name in names)]


def _servers_of(
    recipe: WrittenRecipe, settings: Settings, check: RecipeCheck
) -> Iterator[tuple[str, DatahubClientConfig]]:
    """Yield the recipe key and settings of each server, except servers with faulty settings."""
    api = recipe.resolved.get(_API)
    if isinstance(api, Mapping) and recipe.has_values_of(_API):
        with suppress(ValidationError):
            yield _API, DatahubClientConfig.model_validate(api)
    if recipe.resolved.get("sink") is None:
        try:
            yield _DEFAULT, settings()
        except HyperJoinError as error:
            check.problems.append(f"The recipe has no `sink`. {error}")
    elif isinstance(sink := _sink_of(recipe), DatahubClientConfig):
        yield _SINK, sink


def _sink_of(recipe: WrittenRecipe) -> BaseModel | None:
    return sink_config(recipe.resolved) if recipe.has_values_of(_SINK) else None


def _check_server(key: str, server: DatahubClientConfig, check: RecipeCheck) -> str:
    try:
        return owner_of_token(server, key)
    except UnusableServerError as error:
        check.problems.append(str(error))
        return ""


def _check_datasets(
    config: HyperJoinConfig,
    server: DatahubClientConfig,
    tables: Sequence[Table],
    check: RecipeCheck,
) -> LakeSize:
    """Check that DataHub has the tables, and return how many tables and columns a run compares."""
    try:
        with reading_server(server) as graph:
            known, datasets = read_known(graph, tables, scope=config.scope, warn=check.warn)
    except HyperJoinError as error:
        check.problems.append(str(error))
        return LakeSize(tables=len(tables))
    compared = {table.id for table in known.tables}
    compared |= {*datasets} if config.catalog.described else set()
    columns = [len(datasets[table].columns) for table in compared if table in datasets]
    return LakeSize(tables=len(compared), columns=sum(columns), described=len(columns))


def _check_sink(recipe: WrittenRecipe, check: RecipeCheck) -> None:
    sink = _sink_of(recipe)
    if isinstance(sink, FileSinkConfig) and (fault := file_fault(sink.filename)):
        check.problems.append(fault)


def _check_tables(
    config: HyperJoinConfig, recipe: WrittenRecipe, check: RecipeCheck
) -> dict[str, Listing]:
    """Check the requirements of the run, such as databases and Java, and list the run's tables."""
    name = recipe.resolved.get("pipeline_name")
    has_server = names_server(recipe.resolved)
    unmet = [*unmet_requirements(config, name, has_server=has_server, warn=check.warn)]
    absent = dict(_absent_databases(config))
    check.problems += [*map(str, unmet), *absent.values()]
    folder = config.catalog.folder
    # The folder's own fault is listed already, and the run itself writes the demonstration lake.
    without = {*absent, *([FOLDER_KEY] if folder and not folder.is_dir() else ())}
    with lazy_session(config.spark) as session:
        listings = list_by_key(config, check.warn, session, without=without)
    check.problems += [str(error) for _, error in listings.values() if error]
    tables = [table for listed, _ in listings.values() for table in listed]
    if may_need_spark(tables, config.profile) and not config.spark.is_connect:
        try:
            find_java()
        except HyperJoinError as error:
            check.problems.append(str(error))
    return listings


def _absent_databases(config: HyperJoinConfig) -> Iterator[tuple[str, str]]:
    for key, connection in config.connections_by_key.items():
        source = connection.source
        if isinstance(source, Database) and (fault := database_fault(source, key)):
            yield key, fault
