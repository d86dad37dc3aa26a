"""Test that each variant of the pipeline changes the right settings."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.errors import UnknownVariantError
from benchmarks.variants import ABLATIONS, DEPARTURES, FULL, Variant, choose
from datahub_hyperjoin.evaluate.run import recipe_config
from datahub_hyperjoin.model.config import ModelConfig
from datahub_hyperjoin.model.config.method import OURS, PAPER

DOCUMENT = Path(__file__).parents[3].joinpath("docs", "lab", "rankings.md").read_text("utf-8")
EVERY = (*ABLATIONS, *DEPARTURES)
SECTION = DOCUMENT.partition("## How rankings are measured")[2].partition("\n## ")[0]


def config(variant: Variant, **settings: object) -> ModelConfig:
    return variant.pipeline(settings).config


@pytest.mark.parametrize("variant", EVERY, ids=lambda variant: variant.slug)
def test_every_variant_differs_from_the_full_pipeline(variant: Variant) -> None:
    assert (config(variant) == ModelConfig()) is (variant is FULL)


def test_names_and_slugs_tell_variants_apart() -> None:
    for spelling in ("name", "slug"):
        assert len({getattr(variant, spelling) for variant in EVERY}) == len(EVERY)
    assert all(re.fullmatch(r"[a-z-]+", variant.slug) for variant in EVERY)


def test_one_choice_of_the_paper_is_that_of_its_setting() -> None:
    whole = recipe_config({"model.setting": "paper"}).model
    for variant in DEPARTURES:
        single = config(variant)
        for key, value in variant.settings.items():
            if value == "blend":  # The network is on, so that its part can be another.
                continue
            _, section, name = key.split(".")
            assert getattr(getattr(single, section), name) == getattr(getattr(whole, section), name)
        assert single.setting == replace(OURS, **variant.method)
        for name, value in variant.method.items():
            assert getattr(PAPER, name) == value


def test_a_variant_changes_the_setting_that_all_share() -> None:
    [without_positions] = [variant for variant in ABLATIONS if variant.name == "w/o positions"]
    shared = {"model.setting": "paper", "model.seed": 4}
    changed = without_positions.pipeline(shared).config
    assert changed.setting == replace(PAPER, **without_positions.method)
    assert changed.seed == 4


def test_the_documents_list_every_variant() -> None:
    listed = set(re.findall(r"^\| (\S[^|]*?) \|", SECTION, flags=re.MULTILINE))
    assert listed > {variant.name for variant in EVERY if variant != FULL}


def test_no_names_choose_everything() -> None:
    assert choose([]) == ABLATIONS
    assert choose(["full"]) == (FULL,)
    assert [variant.slug for variant in choose(["papers-loss"])] == ["full", "papers-loss"]


def test_an_unknown_variant_lists_the_known_ones() -> None:
    message = "there is no variant 'w/o luck'. Choose from 'full', 'w/o rerank',"
    with pytest.raises(UnknownVariantError, match=re.escape(message)):
        choose(["with HIN", "w/o luck"])
