"""Settings of an evaluation: those of a recipe, key by key."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from datahub_hyperjoin.config import HyperJoinConfig
from datahub_hyperjoin.evaluate.errors import SettingError

Settings = Mapping[str, object]
"""Recipe keys, as in `model.training.epochs`, and their values."""


def parse_settings(texts: Sequence[str]) -> dict[str, object]:
    """Reads settings as they are typed.

    Args:
        texts: `KEY=VALUE`, the value as YAML has it.

    Returns:
        The value of each key.

    Raises:
        SettingError: One has no key, no value, or a value that is no YAML.

    >>> parse_settings(["model.training.epochs=3", "model.ranking.affinity=hin"])
    {'model.training.epochs': 3, 'model.ranking.affinity': 'hin'}
    """
    found: dict[str, object] = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not (key and separator and value):
            raise SettingError.shapeless(text)
        try:
            found[key] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise SettingError.shapeless(text) from error
    return found


def recipe(settings: Settings, folder: Path = Path()) -> HyperJoinConfig:
    """The recipe that `datahub ingest` would be given.

    Args:
        settings: What differs from the defaults.
        folder: The tables; those of its sub-folders are none of a benchmark's.

    Returns:
        The same configuration that an ingestion has.

    Raises:
        SettingError: A key does not exist, or has a value that it cannot have.
    """
    nested: dict[str, Any] = {
        "catalog": {"folder": str(folder), "tables": {"allow": [r"[^/]+\.csv$"]}}
    }
    for key, value in settings.items():
        place = nested
        *sections, last = key.split(".")
        for section in sections:
            place = place.setdefault(section, {})
            if not isinstance(place, dict):
                raise SettingError.because(key, f"`{section}` has a value itself")
        place[last] = value
    try:
        return HyperJoinConfig.model_validate(nested)
    except ValidationError as error:
        fault = error.errors()[0]
        key = ".".join(map(str, fault["loc"]))
        raise SettingError.because(key, fault["msg"]) from error
