"""Check a recipe, and list all its faults in the order in which a run would meet them."""

import logging
import os
import socket
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from datahub.configuration.common import ConfigurationError
from datahub.ingestion.api.registry import PluginRegistry
from datahub.ingestion.graph.client import DataHubGraph
from datahub.ingestion.graph.config import ClientMode, DatahubClientConfig
from datahub.ingestion.run.pipeline_config import PipelineConfig
from datahub.ingestion.sink.file import FileSinkConfig
from datahub.ingestion.sink.sink_registry import sink_registry
from datahub.ingestion.source.source_registry import source_registry
from pydantic import BaseModel, ValidationError
from requests import RequestException
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError
from typing_extensions import LiteralString

from datahub_hyperjoin.catalog.read import read_known
from datahub_hyperjoin.client_errors import explain, limit_answers
from datahub_hyperjoin.emit.layer import LakeSize
from datahub_hyperjoin.emit.layers import estimate_records
from datahub_hyperjoin.errors import HyperJoinError, LiteralSecretError
from datahub_hyperjoin.graphql.errors import DeniedError
from datahub_hyperjoin.graphql.read import signed_in_user
from datahub_hyperjoin.locations import Database
from datahub_hyperjoin.recipe import (
    HyperJoinConfig,
    RefusedRecipeError,
    find_literal_secrets,
    list_faults,
    read_recipe,
    recipe_keys,
    unmet_requirements,
)
from datahub_hyperjoin.recipe.config import obstacle_to, obstacle_to_file
from datahub_hyperjoin.recipe_check.errors import UnusableServerError
from datahub_hyperjoin.recipe_check.file import WrittenRecipe, read_recipe_file
from datahub_hyperjoin.scan import FOLDER_KEY, Listing, list_by_key
from datahub_hyperjoin.spark.databases.system import system_named
from datahub_hyperjoin.spark.routes import may_need_spark
from datahub_hyperjoin.spark.session import find_java, lazy_session
from datahub_hyperjoin.tables import Table
from datahub_hyperjoin.visible import redact
from datahub_hyperjoin.wording import join_with_and, number_of

_TIMEOUT = 3.0
"""Seconds in which a server has to answer."""

_OURS, _REST = "hyperjoin", "datahub-rest"


def _faults_in_datahub_keys(recipe: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each fault in the parts of a recipe that DataHub itself reads.

    The sentences contain no value but the types of source and sink.
    """
    try:
        PipelineConfig.model_validate(recipe)
    except ValidationError as error:
        yield from list_faults(error, PipelineConfig, "the recipe")
    if kind := _type_in(recipe, "source"):
        yield from _source_faults(kind)
    if kind := _type_in(recipe, "sink"):
        yield from _sink_faults(kind, recipe["sink"].get("config"))
        yield from _ignored_keys(kind, recipe["sink"].get("config"))


def _sink_of(recipe: "WrittenRecipe") -> BaseModel | None:
    """Return the settings of the recipe's sink; None if the recipe has no sink or a faulty one."""
    kind = _type_in(recipe.resolved, "sink")
    if not kind or not recipe.has_values_of(_SINK):
        return None
    config = recipe.resolved["sink"].get("config")
    if any(_sink_faults(kind, config)):
        return None
    return _config_model(kind).model_validate(config or {})


def _is_of_other_source(kind: str) -> bool:
    """Return whether a type names a DataHub source other than `hyperjoin`."""
    return kind != _OURS and kind in source_registry.mapping


def _names_server(recipe: Mapping[str, Any]) -> bool:
    """Return whether a recipe uses a DataHub server, even if the server's settings are faulty."""
    is_default = recipe.get("sink") is None
    return is_default or "datahub_api" in recipe or _type_in(recipe, "sink") == _REST


def _type_in(recipe: Mapping[str, Any], section: str) -> str:
    """Return the type that a section names; empty if it names none."""
    written = recipe.get(section)
    kind = written.get("type") if isinstance(written, Mapping) else None
    return kind if isinstance(kind, str) else ""


def _source_faults(kind: str) -> Iterator[str]:
    if _is_of_other_source(kind):
        yield (
            f"`source.type` is {kind}, which this command cannot check. Name a recipe of "
            f"{_OURS}; `datahub ingest --test-source-connection` checks others"
        )
    elif kind != _OURS:
        yield _unknown_type("source", kind, source_registry)


def _sink_faults(kind: str, config: object) -> Iterator[str]:
    if kind not in sink_registry.mapping:
        yield _unknown_type("sink", kind, sink_registry)
        return
    try:
        model = _config_model(kind)
    except ConfigurationError as error:
        yield f"`sink.type`: {str(error).rstrip('.')}"
        return
    try:
        model.model_validate(config or {})
    except ValidationError as error:
        for fault in list_faults(error, model, "sink.config"):
            yield f"`sink.config`: {fault}"


def _config_model(kind: str) -> type[BaseModel]:
    model = sink_registry.get(kind).get_config_class()
    return model if issubclass(model, BaseModel) else BaseModel


def _ignored_keys(kind: str, config: object) -> Iterator[str]:
    """Yield a sentence for each key that DataHub ignores but that resembles a valid key."""
    try:
        model = _config_model(kind)
    except (KeyError, ConfigurationError):
        return
    if model.model_config.get("extra") != "ignore" or not isinstance(config, Mapping):
        return
    known = [key for key in recipe_keys(model) if "." not in key]
    for key in config:
        if key not in known and (near := get_close_matches(str(key), known, n=1)):
            yield (
                f"`sink.config.{key}` is not a key, and DataHub ignores it. Did you mean "
                f"`sink.config.{near[0]}`?"
            )


def _unknown_type(section: str, kind: str, registry: "PluginRegistry[Any]") -> str:
    start = f"`{section}.type`: DataHub has no {section} {kind!r}."
    if near := get_close_matches(kind, registry.mapping, n=1):
        return f"{start} Did you mean `{near[0]}`?"
    fit = _OURS if section == "source" else f"{_REST}` or `file"
    return f"{start} Write `{fit}`"


_LEAST_TABLES = 2


def _describe_reading(
    config: HyperJoinConfig, listings: Mapping[str, Listing], servers: Mapping[str, str]
) -> str:
    """Say which tables and which catalog a run reads; `servers` maps addresses to users."""
    folder = config.catalog.folder
    parts = [
        f"{number_of(len(tables), 'table')} of "
        f"{f'the folder {folder}' if key == FOLDER_KEY else f'`{key}`'}"
        for key, (tables, _) in listings.items()
    ]
    if folder and FOLDER_KEY not in listings:
        parts = [f"the demonstration lake, which it writes to {folder}", *parts]
    parts += [f"the catalog of {redact(url)} as {owner}" for url, owner in servers.items()]
    return f"It reads {join_with_and(parts)}."


def _describe_writing(
    config: HyperJoinConfig, recipe: Mapping[str, Any], servers: Mapping[str, str]
) -> str:
    """Say where a run writes the joins, and what else it writes."""
    return f"It writes {join_with_and([_sink(recipe, servers), *_files(config)])}."


def _describe_records(
    config: HyperJoinConfig, recipe: Mapping[str, Any], size: LakeSize
) -> Iterator[str]:
    """Say about how many records a run writes, if it has tables that can join."""
    if size.tables < _LEAST_TABLES:
        return
    records = f"about {estimate_records(size, config.emit):,} records"
    if _names_server(recipe):
        yield f"The first run writes {records}, and later runs write what has changed."
    else:
        yield f"It writes {records}."


def _sink(recipe: Mapping[str, Any], servers: Mapping[str, str]) -> str:
    sink: Mapping[str, Any] = recipe.get("sink") or {"type": _REST}
    kind, name = sink["type"], recipe.get("pipeline_name")
    target = f"the sink `{kind}`"
    if kind == "file":
        target = f"the file {sink['config']['filename']}"
    elif kind == _REST:
        target = f"DataHub at {redact([*servers][-1])}"
    return f"joins to {target}{f' as pipeline `{name}`' if name else ''}"


def _files(config: HyperJoinConfig) -> Iterator[str]:
    if config.page:
        values = " with example values" if config.page_values else ""
        yield f"the page {config.page}{values}"
    if config.profile.store:
        yield f"profiles to {config.profile.store}"
    if config.model.path:
        yield f"the network to {config.model.path}"


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
    """A sentence for each problem that does not, such as a file that is not read."""
    description: list[str] = field(default_factory=list)
    """What the run would read and write; empty if there are problems."""

    def warn(self, title: LiteralString, message: LiteralString, context: str) -> None:
        """Store a warning that occurs while the tables are listed."""
        del message  # the guide to troubleshooting has it, too
        self.warnings.append(f"{title}: {context}")


def check_recipe(path: Path, settings: Settings) -> RecipeCheck:
    """Check a recipe, its servers, folder and databases, and the files that its run would write.

    Nothing is written. Tables are listed; of files under other names in DataHub, headers are read.
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
            _describe_reading(config, listings, owners),
            _describe_writing(config, recipe.resolved, owners),
            *_describe_records(config, recipe.resolved, size),
        ]
    return check


def _check_keys(recipe: WrittenRecipe, check: RecipeCheck) -> HyperJoinConfig | None:
    """Check the keys, and return the configuration; None if the recipe is faulty or incomplete."""
    check.problems += recipe.unset.values()
    check.problems += _about_others(_faults_in_datahub_keys(recipe.resolved), recipe.unset)
    source = recipe.resolved.get("source")
    if not isinstance(source, Mapping) or _is_of_other_source(str(source.get("type"))):
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
    """Return the faults that mention none of `keys`, whose variables could not be replaced."""
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


def _check_server(key: str, server: DatahubClientConfig, check: RecipeCheck) -> str:
    try:
        return _owner_of_token(server, key)
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
        with _reading_server(server) as graph:
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
    if isinstance(sink, FileSinkConfig) and (fault := _file_fault(sink.filename)):
        check.problems.append(fault)


def _check_tables(
    config: HyperJoinConfig, recipe: WrittenRecipe, check: RecipeCheck
) -> dict[str, Listing]:
    """Check the requirements of the run, such as databases and Java, and list the run's tables."""
    name = recipe.resolved.get("pipeline_name")
    has_server = _names_server(recipe.resolved)
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
        if isinstance(source, Database) and (fault := _database_fault(source, key)):
            yield key, fault


def _owner_of_token(config: DatahubClientConfig, key: str) -> str:
    """Ask a DataHub server who owns the token in a section of the recipe, such as `sink.config`."""
    token = config.token
    try:
        with _reading_server(config.model_copy(update={"timeout_sec": _TIMEOUT})) as graph:
            graph.test_connection()
            return signed_in_user(graph)
    except DeniedError as error:
        reason = explain(error.__cause__, token) if isinstance(error.__cause__, Exception) else ""
        has_token = bool(token or config.auth)
        build = UnusableServerError.refusing if has_token else UnusableServerError.closed
        raise build(key, reason) from error
    except (ConfigurationError, HyperJoinError) as error:
        raise UnusableServerError.unreached(key, redact(str(error), token)) from error
    except (RequestException, ValueError) as error:
        raise UnusableServerError.unreached(key, explain(error, token)) from error


@contextmanager
def _reading_server(config: DatahubClientConfig) -> Iterator[DataHubGraph]:
    """Open a client of a DataHub server for a `with` block, without the lines that it logs."""
    own = {"retry_max_times": 0, "client_mode": ClientMode.CLI}
    with _quiet(), closing(DataHubGraph(config.model_copy(update=own))) as graph:
        limit_answers(graph)
        yield graph


def _database_fault(database: Database, key: str) -> str:
    """Describe the fault if nothing listens at the address of a database; else an empty text.

    A driver alone may wait for minutes. If the URL names no port that can be tried, the driver
    tells.
    """
    try:
        url = make_url(database.url.get_secret_value())
    except ArgumentError:
        return ""
    port = url.port or system_named(url.get_backend_name()).port
    if not url.host or not port or url.query.get("host"):
        return ""
    try:
        socket.create_connection((url.host, port), timeout=_TIMEOUT).close()
    except (OSError, UnicodeError):
        return (
            f"`{key}.database.url`: nothing answers at {url.host}:{port}. Start the database, or "
            "correct host and port"
        )
    return ""


def _file_fault(filename: str) -> str:
    """Return why DataHub's file sink cannot write its file; empty if it can, or in a store."""
    if "://" in filename:
        return ""
    path = Path(filename)
    obstacle = obstacle_to(path, obstacle_to_file)
    if not obstacle and path.exists() and not os.access(path, os.W_OK):
        obstacle = "it cannot be written to"
    if not obstacle:
        return ""
    return f"`sink.config.filename` is {filename!r}: {obstacle}. Name another file"


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence logging in the `with` block, because the block's errors are reported as faults."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
