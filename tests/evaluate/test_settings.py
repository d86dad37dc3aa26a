"""Test the recipe settings of an evaluation."""

import re

import pytest

from datahub_hyperjoin.evaluate.errors import SettingError
from datahub_hyperjoin.evaluate.run import parse_settings, recipe_config
from datahub_hyperjoin.model.config import ModelConfig


def test_without_settings_it_is_the_default_recipe() -> None:
    config = recipe_config({})
    assert config.model == ModelConfig()
    assert config.catalog.tables.allowed("a.csv")
    assert not config.catalog.tables.allowed("sub/a.csv")


def test_settings_reach_the_recipe() -> None:
    config = recipe_config({"model.training.epochs": 3, "model.seed": 4, "profile.max_rows": 10})
    assert (config.model.training.epochs, config.model.seed) == (3, 4)
    assert config.profile.max_rows == 10


@pytest.mark.parametrize("text", ["model.seed", "=3", "model.seed=", "model.seed=[1"])
def test_a_malformed_setting_is_shown(text: str) -> None:
    message = f"{text!r} is not a setting. Write KEY=VALUE"
    with pytest.raises(SettingError, match=re.escape(message)):
        parse_settings([text])


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("model.training.epoch", 3, "`model.training.epoch` cannot be set: "),
        ("model.training.epochs", 0, "`model.training.epochs` cannot be set: "),
        ("modell.seed", 0, "`modell` cannot be set: "),
        ("catalog.folder.name", "x", "cannot be set: `folder` has a value itself. Use the keys"),
    ],
)
def test_a_setting_of_no_recipe_is_refused(key: str, value: object, message: str) -> None:
    with pytest.raises(SettingError, match=re.escape(message)):
        recipe_config({key: value})
