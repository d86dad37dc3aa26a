"""Test the preset for agents in the recipe section `emit`."""

import pytest

from datahub_hyperjoin.emit.config import EmitConfig, JoinChoice, LineageForm
from datahub_hyperjoin.recipe import HyperJoinConfig


def parse(**emit: object) -> EmitConfig:
    recipe = {"catalog": {"folder": "."}, "emit": emit}
    return HyperJoinConfig.model_validate(recipe).emit


@pytest.mark.parametrize("on", [True, "true", "yes", 1])
def test_the_preset_for_agents_turns_its_layers_on(on: object) -> None:
    assert parse(agents=on) == EmitConfig(
        agents=True, queries=True, documents=True, ai_context=True
    )


@pytest.mark.parametrize("off", [False, "false", 0])
def test_without_the_preset_nothing_changes(off: object) -> None:
    assert parse(agents=off) == EmitConfig() == parse()


def test_a_layer_that_the_recipe_sets_stays_as_it_says() -> None:
    assert parse(agents=True, queries=False) == EmitConfig(
        agents=True, documents=True, ai_context=True
    )


def test_a_preset_that_is_no_switch_is_refused() -> None:
    with pytest.raises(ValueError, match=r"emit\.agents\n  Input should be a valid boolean"):
        parse(agents="some")


@pytest.mark.parametrize(
    ("written", "form"),
    [
        (False, False),
        ("false", False),
        ("dashed", LineageForm.DASHED),
        ("columns", LineageForm.COLUMNS),
        (True, LineageForm.DASHED),
        ("true", LineageForm.DASHED),
    ],
)
def test_lineage_has_a_form(written: object, form: object) -> None:
    assert parse(lineage=written).lineage == form


def test_an_unknown_form_of_lineage_is_refused() -> None:
    message = r"emit\.lineage\n  Value error, Write `false`, `dashed` or `columns`"
    with pytest.raises(ValueError, match=message):
        parse(lineage="solid")


@pytest.mark.parametrize("address", ["/mnt/lake", "s3://lake/exports/", "abfss://c@a.example/lake"])
def test_the_lake_has_an_address_for_readers(address: str) -> None:
    assert parse(files_at=address).files_at == address


@pytest.mark.parametrize(
    "address", ["", "lake", "s3://key:hush@lake/x", "https://lake/x?sig=hush", "/a\nb"]
)
def test_what_no_reader_may_see_is_no_address(address: str) -> None:
    with pytest.raises(ValueError, match="`files_at` is no address of a folder"):
        parse(files_at=address)


@pytest.mark.parametrize("key", ["watch", "semantic_models"])
@pytest.mark.parametrize("written", ["accepted", "declared", "safe"])
def test_joins_are_chosen_by_what_is_known(key: str, written: str) -> None:
    assert getattr(parse(**{key: written}), key) == JoinChoice(written)
    assert getattr(parse(**{key: "off"}), key) is getattr(parse(), key) is False


@pytest.mark.parametrize("key", ["watch", "semantic_models"])
@pytest.mark.parametrize("written", [True, "all", 3, None])
def test_an_unknown_choice_of_joins_is_refused(key: str, written: object) -> None:
    message = rf"emit\.{key}\n  Value error, Write `false`, `accepted`, `declared` or `safe`"
    with pytest.raises(ValueError, match=message):
        parse(**{key: written})


@pytest.mark.parametrize(
    ("share", "message"),
    [
        (0, "Input should be greater than 0"),
        (98, "Input should be less than or equal to 1"),
        (True, "Value error, Input should be a number, not true or false"),
    ],
)
def test_a_threshold_is_a_share(share: object, message: str) -> None:
    with pytest.raises(ValueError, match=rf"emit\.watch_threshold\n  {message}"):
        parse(watch_threshold=share)
