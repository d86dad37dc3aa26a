"""List the keys of a recipe, and guess the intended key for a misspelt one."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any

from pydantic import BaseModel

from datahub_hyperjoin.recipe.config import HyperJoinConfig

_LIKENESS = 0.8
"""Minimum similarity, in [0, 1], of an unknown key to a suggested key of another section."""


@cache
def recipe_keys(model: type[BaseModel] = HyperJoinConfig) -> tuple[str, ...]:
    """List the keys of a section and of all its subsections, as in `connections[].database.url`.

    Args:
        model: The model of the section; that of `source.config` by default.

    Returns:
        Sections and the keys in them, in the order of the configuration.
    """
    schema = model.model_json_schema()
    return tuple(_list_keys(schema, schema, ""))


def name_key(path: Sequence[str | int]) -> str:
    """Join a path of nested keys with dots, as in `catalog.folder`.

    >>> name_key(("connections", 0, "database"))
    'connections[0].database'
    """
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).lstrip(".")


def nearest_key(path: Sequence[str | int], model: type[BaseModel] = HyperJoinConfig) -> str:
    """Return the existing key that most resembles an unknown key.

    Args:
        model: The model whose keys exist; that of `source.config` by default.

    Returns:
        A key of the same section with a similar name; else one of another section with nearly the
        same name; else an empty text.

    >>> nearest_key(("catalog", "foler")), nearest_key(("topk",)), nearest_key(("xyz",))
    ('catalog.folder', 'model.ranking.top_k', '')
    """
    *section, name = path
    if near := get_close_matches(str(name), keys_of(section, model), n=1):
        return name_key([*section, *near])
    by_name = {key.rpartition(".")[2]: key for key in reversed(recipe_keys(model))}
    near = get_close_matches(str(name), by_name, n=1, cutoff=_LIKENESS)
    return by_name[near[0]] if near else ""


def keys_of(section: Sequence[str | int], model: type[BaseModel] = HyperJoinConfig) -> list[str]:
    """List the names of the keys in a section.

    Args:
        model: The model that the path begins in; that of `source.config` by default.

    >>> keys_of(["catalog", "dialect"]), keys_of(["connections", 0])[0]
    (['delimiter', 'quote', 'escape', 'encoding'], 'env')
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
