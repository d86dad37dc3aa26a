"""Damage the recipes of the package."""

import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml
from pydantic import ValidationError

from datahub_hyperjoin.errors import HyperJoinError
from datahub_hyperjoin.recipe import HyperJoinConfig
from faults.damage import damage, damage_json
from faults.watched import Try

_RECIPES = Path(__file__).parents[2] / "ingestion_recipes"
_LONGEST = 5 * 1024
"""Maximum size of an error that a person still reads, in bytes."""


@contextmanager
def recipes() -> Iterator[Try]:
    """Yield a function that reads a damaged recipe of the package."""
    texts = [path.read_bytes() for path in sorted(_RECIPES.glob("*.yml"))]
    configs = [yaml.safe_load(text)["source"]["config"] for text in texts]
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # a path in a recipe may be relative

        def attempt(draw: random.Random) -> str:
            if draw.random() < 1 / 2:
                return _problem(damage_json(draw.choice(configs), draw))
            try:
                # PyYAML's parser in C: the one in Python takes seconds for 500 opened brackets.
                text = damage(draw.choice(texts), draw, draw.choice(texts))
                config = yaml.load(text, yaml.CSafeLoader)["source"]["config"]
            except (yaml.YAMLError, ValueError, LookupError, TypeError, RecursionError):
                return ""  # DataHub refuses it before this package sees it
            return _problem(config)

        try:
            yield attempt
        finally:
            os.chdir(before)


def _problem(config: object) -> str:
    try:
        HyperJoinConfig.model_validate(config)
    except (ValidationError, HyperJoinError) as error:
        size = len(str(error).encode("utf-8", "backslashreplace"))
        if size > _LONGEST:
            return f"an error of {size} bytes: {str(error)[:100]}"
    return ""
