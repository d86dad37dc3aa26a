"""Settings and variants: recipes, key by key."""

import re
from pathlib import Path

import pytest
import yaml

from datahub_hyperjoin.evaluate.ablations import ABLATIONS, DEPARTURES, FULL, Variant, choose
from datahub_hyperjoin.evaluate.errors import SettingError, UnknownVariantError
from datahub_hyperjoin.evaluate.settings import parse_settings, recipe
from datahub_hyperjoin.model.config import ModelConfig

DOCUMENT = Path(__file__).parents[2].joinpath("model", "README.md").read_text("utf-8")
EVERY = (*ABLATIONS, *DEPARTURES)
SECTION = DOCUMENT.partition("## How it is measured")[2].partition("\n## ")[0]


def test_without_settings_it_is_the_product() -> None:
    config = recipe({})
    assert config.model == ModelConfig()
    assert config.catalog.tables.allowed("a.csv")
    assert not config.catalog.tables.allowed("sub/a.csv")


def test_settings_reach_the_recipe() -> None:
    config = recipe({"model.training.epochs": 3, "model.seed": 4, "profile.max_rows": 10})
    assert (config.model.training.epochs, config.model.seed) == (3, 4)
    assert config.profile.max_rows == 10


@pytest.mark.parametrize("variant", EVERY, ids=lambda variant: variant.slug)
def test_every_variant_is_a_recipe_of_its_own(variant: Variant) -> None:
    config = recipe(variant.settings).model
    assert (config == ModelConfig()) is (variant is FULL)


def test_names_and_slugs_tell_variants_apart() -> None:
    for spelling in ("name", "slug"):
        assert len({getattr(variant, spelling) for variant in EVERY}) == len(EVERY)
    assert all(re.fullmatch(r"[a-z-]+", variant.slug) for variant in EVERY)


def test_one_choice_of_the_paper_is_that_of_its_setting() -> None:
    whole = recipe({"model.setting": "paper"}).model
    for variant in DEPARTURES:
        for key in variant.settings:
            _, section, name = key.split(".")
            one = recipe(variant.settings).model
            assert getattr(getattr(one, section), name) == getattr(getattr(whole, section), name)


def test_the_documents_list_every_variant_with_its_key() -> None:
    rows = re.findall(r"^\| (\S.*) \| `([\w.]+): ([\w.]+)` \|$", SECTION, flags=re.MULTILINE)
    listed = {name: {f"model.{key}": yaml.safe_load(value)} for name, key, value in rows}
    assert listed == {variant.name: variant.settings for variant in EVERY if variant != FULL}


def test_no_names_choose_everything() -> None:
    assert choose([]) == ABLATIONS
    assert choose(["full"]) == (FULL,)
    assert [variant.slug for variant in choose(["papers-loss"])] == ["full", "papers-loss"]


def test_an_unknown_variant_brings_those_there_are() -> None:
    message = "there is no variant 'w/o luck'. Choose from 'full', 'w/o rerank',"
    with pytest.raises(UnknownVariantError, match=re.escape(message)):
        choose(["w/o HIN", "w/o luck"])


@pytest.mark.parametrize("text", ["model.seed", "=3", "model.seed=", "model.seed=[1"])
def test_what_is_no_setting_is_shown(text: str) -> None:
    with pytest.raises(SettingError, match=re.escape(f"{text!r} is no setting. Write KEY=VALUE")):
        parse_settings([text])


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("model.training.epoch", 3, "`model.training.epoch` cannot be set: "),
        ("model.training.epochs", 0, "`model.training.epochs` cannot be set: "),
        ("modell.seed", 0, "`modell` cannot be set: "),
        ("catalog.folder.name", "x", "cannot be set: `folder` has a value itself. See the keys"),
    ],
)
def test_a_setting_of_no_recipe_is_refused(key: str, value: object, message: str) -> None:
    with pytest.raises(SettingError, match=re.escape(message)):
        recipe({key: value})
