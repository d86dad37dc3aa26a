"""Say in two sentences what the run of a recipe would read and write."""

from collections.abc import Iterator, Mapping
from typing import Any

from datahub_hyperjoin.emit.expected_records import LakeSize, estimate_records
from datahub_hyperjoin.recipe.config import HyperJoinConfig
from datahub_hyperjoin.recipe_check.datahub_keys import names_server
from datahub_hyperjoin.redact import redact
from datahub_hyperjoin.scan import FOLDER_KEY, Listing
from datahub_hyperjoin.wording import join_with_and, number_of

_LEAST_TABLES = 2


def describe_reading(
    config: HyperJoinConfig, listings: Mapping[str, Listing], servers: Mapping[str, str]
) -> str:
    """Say which tables and which catalog a run reads.

    Args:
        listings: The tables of the folder and of each connection.
        servers: The owner of the token, by the address of each DataHub server.
    """
    parts = [
        f"{number_of(len(tables), 'table')} of {_place(config, key)}"
        for key, (tables, _) in listings.items()
    ]
    folder = config.catalog.folder
    if folder and FOLDER_KEY not in listings:
        parts = [f"the demonstration lake, which it writes to {folder}", *parts]
    parts += [f"the catalog of {redact(url)} as {owner}" for url, owner in servers.items()]
    return f"It reads {join_with_and(parts)}."


def describe_writing(
    config: HyperJoinConfig, recipe: Mapping[str, Any], servers: Mapping[str, str]
) -> str:
    """Say where a run writes the joins, and what else it writes.

    Args:
        servers: The owner of the token, by the address of each DataHub server.
    """
    return f"It writes {join_with_and([_sink(recipe, servers), *_files(config)])}."


def describe_records(
    config: HyperJoinConfig, recipe: Mapping[str, Any], size: LakeSize
) -> Iterator[str]:
    """Say about how many records a run writes, if it has tables that can join."""
    if size.tables < _LEAST_TABLES:
        return
    records = f"about {estimate_records(size, config.emit):,} records"
    if names_server(recipe):
        yield f"The first run writes {records}, and later runs write what has changed."
    else:
        yield f"It writes {records}."


def _sink(recipe: Mapping[str, Any], servers: Mapping[str, str]) -> str:
    sink: Mapping[str, Any] = recipe.get("sink") or {"type": "datahub-rest"}
    kind, name = sink["type"], recipe.get("pipeline_name")
    if kind == "file":
        target = f"the file {sink['config']['filename']}"
    elif kind == "datahub-rest":
        target = f"DataHub at {redact([*servers][-1])}"
    else:
        target = f"the sink `{kind}`"
    return f"joins to {target}{f' as pipeline `{name}`' if name else ''}"


def _files(config: HyperJoinConfig) -> Iterator[str]:
    if config.page:
        values = " with example values" if config.page_values else ""
        yield f"the page {config.page}{values}"
    if config.profile.store:
        yield f"profiles to {config.profile.store}"
    if config.model.path:
        yield f"the network to {config.model.path}"


def _place(config: HyperJoinConfig, key: str) -> str:
    if key == FOLDER_KEY:
        return f"the folder {config.catalog.folder}"
    return f"`{key}`"
