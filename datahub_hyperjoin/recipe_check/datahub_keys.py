"""Check the parts of a recipe that DataHub itself reads: all but `source.config`."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from datahub.configuration.common import ConfigurationError
from datahub.ingestion.api.registry import PluginRegistry
from datahub.ingestion.run.pipeline_config import PipelineConfig
from datahub.ingestion.sink.sink_registry import sink_registry
from datahub.ingestion.source.source_registry import source_registry
from pydantic import BaseModel, ValidationError

from datahub_hyperjoin.recipe import list_faults, recipe_keys

_OURS, _REST = "hyperjoin", "datahub-rest"


def faults_in_datahub_keys(recipe: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each fault in the parts of a recipe that DataHub itself reads.

    Yields:
        Sentences that contain no value but the types of source and sink.
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


def sink_config(recipe: Mapping[str, Any]) -> BaseModel | None:
    """Return the settings of the recipe's sink; None if the recipe has no sink or a faulty one."""
    kind = _type_in(recipe, "sink")
    if not kind or any(_sink_faults(kind, recipe["sink"].get("config"))):
        return None
    return _config_model(kind).model_validate(recipe["sink"].get("config") or {})


def is_of_other_source(kind: str) -> bool:
    """Return whether a type names a DataHub source other than `hyperjoin`."""
    return kind != _OURS and kind in source_registry.mapping


def names_server(recipe: Mapping[str, Any]) -> bool:
    """Return whether a recipe uses a DataHub server, even if the server's settings are faulty."""
    is_default = recipe.get("sink") is None
    return is_default or "datahub_api" in recipe or _type_in(recipe, "sink") == _REST


def _type_in(recipe: Mapping[str, Any], section: str) -> str:
    """Return the type that a section names; empty if it names none."""
    written = recipe.get(section)
    kind = written.get("type") if isinstance(written, Mapping) else None
    return kind if isinstance(kind, str) else ""


def _source_faults(kind: str) -> Iterator[str]:
    if kind == _OURS:
        return
    if is_of_other_source(kind):
        yield (
            f"`source.type` is {kind}, which this command cannot check. Name a recipe of "
            f"{_OURS}; `datahub ingest --test-source-connection` checks others"
        )
    else:
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
