"""Convert the settings of an evaluation to the DataHub source's configuration."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from datahub_hyperjoin.evaluate.errors import SettingError
from datahub_hyperjoin.recipe.config import HyperJoinConfig

RecipeSettings = Mapping[str, object]
"""Recipe keys, such as `model.training.epochs`, and their values."""


def parse_settings(texts: Sequence[str]) -> dict[str, object]:
    """Parse `KEY=VALUE` settings from the command line.

    Args:
        texts: `KEY=VALUE`, with the value in YAML.

    Returns:
        The value of each key.

    Raises:
        SettingError: A text has no key or no value, or its value is not YAML.

    >>> parse_settings(["model.training.epochs=3", "model.setting=paper"])
    {'model.training.epochs': 3, 'model.setting': 'paper'}
    """
    settings: dict[str, object] = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not (key and separator and value):
            raise SettingError.shapeless(text)
        try:
            settings[key] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise SettingError.shapeless(text) from error
    return settings


def recipe_config(settings: RecipeSettings, folder: Path = Path()) -> HyperJoinConfig:
    """Build the DataHub source's configuration from settings and a folder of tables.

    Args:
        settings: The keys that differ from the defaults.
        folder: The folder with the tables; tables in its subfolders are ignored.

    Raises:
        SettingError: A key does not exist, or its value is not allowed.
    """
    nested: dict[str, Any] = {
        "catalog": {"folder": str(folder), "tables": {"allow": [r"[^/]+\.csv$"]}}
    }
    for key, value in settings.items():
        parent = nested
        *sections, last = key.split(".")
        for section in sections:
            parent = parent.setdefault(section, {})
            if not isinstance(parent, dict):
                raise SettingError.because(key, f"`{section}` has a value itself")
        parent[last] = value
    try:
        return HyperJoinConfig.model_validate(nested)
    except ValidationError as error:
        details = error.errors()[0]
        key = ".".join(map(str, details["loc"]))
        raise SettingError.because(key, details["msg"]) from error
