"""Validate a recipe, explain its faults in sentences, and check what its run needs."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from typing import Any

from datahub.ingestion.api.common import PipelineContext
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from datahub_hyperjoin.catalog.errors import MissingServerError
from datahub_hyperjoin.catalog.folders import check_folder
from datahub_hyperjoin.decision_file import read_decision_file
from datahub_hyperjoin.errors import HyperJoinError, LiteralSecretError
from datahub_hyperjoin.model.config.sections import require_extras
from datahub_hyperjoin.progress import Warn, warn_nobody
from datahub_hyperjoin.recipe.config import HyperJoinConfig
from datahub_hyperjoin.recipe.errors import RefusedRecipeError, StateWithoutServerError
from datahub_hyperjoin.wording import join_with_and

_LIKENESS = 0.8
"""Minimum similarity, in [0, 1], of an unknown key to a suggested key of another section."""
_SERVER = "datahub"
"""The kind of state provider that keeps its state in a DataHub server."""
_SECRET_KEY = re.compile(r"password|secret|token|private.?key|api.?key|account\.key", re.IGNORECASE)
_HARMLESS_KEY = re.compile(
    r"provider|file|path|enabled|regex|class|interval|keyref|\.secrets\.", re.IGNORECASE
)
"""Words that show that a key holds no secret, such as `file` in `spark.ssl.trustStoreFile`."""
_SECRET_IN_URL = re.compile(
    r"://[^/@\s:]*:([^/@\s]+)@|[?&;](?:password|passwd|pwd|token|secret)=([^&;\s]+)", re.IGNORECASE
)
_VARIABLE = re.compile(r"\$\{|\$[A-Za-z_]")
_RUN_BY_DATAHUB = "urn:li:dataHub"
"""How the run's ID and the pipeline's name begin if DataHub runs a recipe from its own pages.
DataHub then also replaces the variables itself, so that this package never sees the recipe as it
was written."""


def read_recipe(written: object) -> HyperJoinConfig:
    """Validate the section `source.config` of a recipe.

    Raises:
        RefusedRecipeError: The section is missing, or has unknown keys or invalid values. The
            message lists them all, and contains no values.
    """
    if not isinstance(written, Mapping):
        raise RefusedRecipeError.without_settings()
    with in_sentences():
        return HyperJoinConfig.model_validate(written)


@contextmanager
def in_sentences() -> Iterator[None]:
    """Convert errors in a `with` block to one `RefusedRecipeError` in plain sentences."""
    try:
        yield
    except RefusedRecipeError:
        raise
    except ValidationError as error:
        raise RefusedRecipeError.because(list_faults(error)) from error
    except HyperJoinError as error:
        raise RefusedRecipeError.because([str(error)]) from error


def list_faults(
    error: ValidationError, model: type[BaseModel] = HyperJoinConfig, section: str = ""
) -> list[str]:
    """Write a sentence for each fault that a Pydantic model found, without the recipe's values."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return [_sentence(fault, model, section or "source.config") for fault in faults]


def _sentence(fault: ErrorDetails, model: type[BaseModel], top: str) -> str:
    path = fault["loc"]
    name = f"`{_name_key(path)}`"
    match fault["type"]:  # of Pydantic
        case "extra_forbidden" | "unexpected_keyword_argument":
            return f"{name} is not a key. {_advice(path, model, top)}"
        case "missing":
            return f"{name} is missing. Add it"
        case "model_type" | "dataclass_type":  # empty, or a single value
            return f"{name} is a section. Write its keys below it, indented by two spaces"
        case "list_type":
            return f"{name} is a list. Begin each of its entries with `- `"
        case _:
            message = fault["msg"].removeprefix("Value error, ")  # of validators
            return f"{name}: {message}" if path else message


def _advice(path: tuple[str | int, ...], model: type[BaseModel], top: str) -> str:
    if near := _nearest_key(path, model):
        return f"Did you mean `{near}`?"
    section = path[:-1]
    names = join_with_and([f"`{name}`" for name in keys_of(section, model)])
    return f"The keys of `{_name_key(section) or top}` are {names}"


@cache
def recipe_keys(model: type[BaseModel] = HyperJoinConfig) -> tuple[str, ...]:
    """List the keys of a section and of all its subsections, as in `connections[].database.url`."""
    schema = model.model_json_schema()
    return tuple(_list_keys(schema, schema, ""))


def _name_key(path: Sequence[str | int]) -> str:
    """Join a path of nested keys with dots, as in `catalog.folder`.

    >>> _name_key(("connections", 0, "database"))
    'connections[0].database'
    """
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).lstrip(".")


def _nearest_key(path: Sequence[str | int], model: type[BaseModel] = HyperJoinConfig) -> str:
    """Return the key that most resembles an unknown one, first of its section; empty if none does.

    >>> _nearest_key(("catalog", "foler")), _nearest_key(("topk",)), _nearest_key(("xyz",))
    ('catalog.folder', 'model.ranking.top_k', '')
    """
    *section, name = path
    if near := get_close_matches(str(name), keys_of(section, model), n=1):
        return _name_key([*section, *near])
    by_name = {key.rpartition(".")[2]: key for key in reversed(recipe_keys(model))}
    near = get_close_matches(str(name), by_name, n=1, cutoff=_LIKENESS)
    return by_name[near[0]] if near else ""


def keys_of(section: Sequence[str | int], model: type[BaseModel] = HyperJoinConfig) -> list[str]:
    """List the names of the keys in a section.

    >>> keys_of(["catalog", "dialect"]), keys_of(["connections", 0])[0]
    (['delimiter', 'quote', 'escape', 'encoding', 'header'], 'env')
    """
    # Of a list, each item has the same keys.
    parts = ("[]" if isinstance(part, int) else f".{part}" for part in [*section, ""])
    prefix = "".join(parts).lstrip(".")
    names = (key.removeprefix(prefix) for key in recipe_keys(model) if key.startswith(prefix))
    return [name for name in names if "." not in name]


def _list_keys(schema: Mapping[str, Any], node: Mapping[str, Any], path: str) -> Iterator[str]:
    for name, value in node.get("properties", {}).items():
        yield f"{path}{name}"
        for option in (value, *value.get("anyOf", ())):
            for reference, suffix in ((option, "."), (option.get("items", {}), "[].")):
                if "$ref" in reference:
                    section = schema["$defs"][reference["$ref"].rpartition("/")[2]]
                    yield from _list_keys(schema, section, f"{path}{name}{suffix}")


def check_requirements(config: HyperJoinConfig, ctx: PipelineContext) -> None:
    """Refuse a run without the folder, the file of decisions, the extras or the server it needs."""
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

    `warn` receives damaged lines of the file of decisions.
    """
    checks: tuple[Callable[[], object], ...] = (
        lambda: require_extras(config.model),
        lambda: _check_folder(config),
        lambda: read_decision_file(config.decisions, warn) if config.decisions else None,
        lambda: _check_catalog(config, has_server=has_server),
        lambda: _check_state(config, pipeline_name, has_server=has_server),
    )
    for check in checks:
        try:
            check()
        except HyperJoinError as error:  # noqa: PERF203 - every error counts
            yield error


def _check_folder(config: HyperJoinConfig) -> None:
    folder = config.catalog.folder
    # The run itself writes the demonstration lake.
    if folder and (folder.exists() or not config.catalog.demo):
        check_folder(folder)


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


def find_literal_secrets(written: Mapping[str, Any]) -> list[str]:
    """Return the recipe keys whose values contain a password or another secret as plain text.

    DataHub replaces variables before a source receives its settings, and then a literal looks like
    a variable's value. The recipe as it was written tells them apart.

        >>> find_literal_secrets({"database": {"url": "postgresql://me:hush@host/shop"}})
        ['database.url']
        >>> find_literal_secrets({"database": {"url": "postgresql://me:${PASSWORD}@host/shop"}})
        []
    """
    return [key for key, name, value in _texts(written, "") if _is_literal(name, value)]


def refuse_literal_secrets(ctx: PipelineContext) -> None:
    """Refuse a run whose recipe file contains secrets as plain text.

    A recipe that a program passes as a dictionary, or that DataHub's pages run, is not refused,
    since nobody can tell how it was written.
    """
    pipeline = ctx.pipeline_config
    if pipeline is None or str(ctx.pipeline_name).startswith(_RUN_BY_DATAHUB):
        return
    written = pipeline.get_raw_dict()
    # Without a file, DataHub returns the settings after the replacement.
    if written == pipeline.model_dump() or ctx.run_id.startswith(_RUN_BY_DATAHUB):
        return
    if keys := find_literal_secrets(written["source"].get("config") or {}):
        raise LiteralSecretError.in_keys(keys)


def _texts(value: object, key: str, name: str = "") -> Iterator[tuple[str, str, str]]:
    """For each text in a recipe, yield its full key, the key's last part and the text."""
    if isinstance(value, Mapping):
        for part, inner in value.items():
            yield from _texts(inner, f"{key}.{part}".lstrip("."), str(part))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, f"{key}[{index}]", name)
    elif isinstance(value, str):
        yield key, name, value


def _is_literal(name: str, value: str) -> bool:
    if _SECRET_KEY.search(name) and not _HARMLESS_KEY.search(name):
        return bool(value) and not _VARIABLE.search(value)
    parts = (found[1] or found[2] for found in _SECRET_IN_URL.finditer(value))
    return not all(_VARIABLE.search(part) for part in parts)
