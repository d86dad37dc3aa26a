"""Test the section `model` of a recipe."""

import dataclasses
import json
import pickle
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from datahub_hyperjoin.model.config import (
    OURS,
    PAPER,
    Edges,
    EpochSelection,
    FeatureConfig,
    LanguageModelConfig,
    Loss,
    ModelConfig,
    NetworkConfig,
    Positions,
    RankingConfig,
    Scoring,
    TrainingConfig,
)
from datahub_hyperjoin.model.config.method import find_method, name_method
from datahub_hyperjoin.model.config.sections import fill, find_unused_keys, paper
from datahub_hyperjoin.recipe.config import HyperJoinConfig


def at(config: ModelConfig, key: str) -> object:
    """Return the value of a key such as `training.epochs`."""
    value: Any = config
    for part in key.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("setting.vocabulary", 1500),
        ("setting.dimension", 300),
        ("setting.edges", Edges.VARIANTS),
        ("setting.walk_length", 16),
        ("network.width", 512),
        ("setting.heads", 8),
        ("setting.node_layers", 2),
        ("setting.mixer_layers", 2),
        ("setting.dropout", 0.05),
        ("setting.position_weight", 0.1),
        ("setting.structure_weight", 0.5),
        ("setting.positions", Positions.LAPLACIAN),
        ("setting.name_vectors", False),
        ("training.epochs", 30),
        ("setting.warmup_epochs", 3),
        ("training.batch_size", 64),
        ("training.learning_rate", 4e-4),
        ("setting.loss", Loss.TRIPLET),
        ("setting.margin", 1.0),
        ("setting.gradient_clip", 1.0),
        ("setting.selection", EpochSelection.LOSS),
        ("setting.corruption", False),
        ("setting.table_swap_rate", 0.0),
        ("setting.context_dropout_rate", 0.0),
        ("setting.exclude_similar_negatives", False),
        ("setting.defer_duplicates", False),
        ("setting.candidates", 50),
        ("setting.entity_kinds", False),
        ("setting.value_forms", False),
        ("setting.roles", False),
        ("hypergraph.max_size", 10**9),
        ("ranking.top_k", 25),
        ("ranking.coherence", 1.0),
        ("ranking.scoring", Scoring.HIN),
        ("ranking.min_joinability", 0.0),
        ("ranking.min_containment", 0.0),
    ],
)
def test_the_paper_s_setting_is_the_paper_s(key: str, value: object) -> None:
    assert at(paper(), key) == value


def test_the_paper_s_training_never_stops_early_and_learns_every_key() -> None:
    assert PAPER.patience >= paper().training.epochs
    assert PAPER.held_out == 0


def test_every_hyperedge_of_the_paper_is_there() -> None:
    assert PAPER.within_tables
    assert PAPER.across_tables
    assert PAPER.hyperedges_at_inference
    assert PAPER.name_variants


def test_a_setting_beneath_nothing_is_the_setting() -> None:
    assert fill({"setting": "paper"}) == {**asdict(paper()), "setting": "paper"}
    assert fill({"setting": PAPER}) == {**asdict(paper()), "setting": PAPER}


def test_our_setting_adds_nothing() -> None:
    for written in ({}, {"setting": "ours"}, {"setting": "papre", "training": {"epochs": 1}}):
        assert fill(written) == written


def test_what_is_written_wins_at_every_depth() -> None:
    filled = fill({"setting": "paper", "seed": 3, "ranking": {"scoring": "blend"}})
    assert filled["seed"] == 3
    assert filled["ranking"] == {**asdict(paper().ranking), "scoring": "blend"}
    assert filled["training"] == asdict(paper().training)


def test_what_is_wrong_stays_for_validation_to_name() -> None:
    filled = fill({"setting": "paper", "ranking": None, "training": {"epoch": 1}})
    assert filled["ranking"] is None
    assert filled["training"] == {**asdict(paper().training), "epoch": 1}


def test_a_section_of_the_paper_s_setting_can_be_replaced() -> None:
    ours = replace(paper(), ranking=ModelConfig().ranking)
    assert [f.name for f in fields(ours) if getattr(ours, f.name) == getattr(paper(), f.name)] == [
        f.name for f in fields(ours) if f.name != "ranking"
    ]


def test_a_method_has_the_name_that_selects_it() -> None:
    for name, method in (("ours", OURS), ("paper", PAPER)):
        assert find_method(name) == find_method(method) == method
        assert name_method(method) == name
    assert name_method(replace(OURS, loss=Loss.TRIPLET)) == "custom"


def test_something_must_be_read() -> None:
    with pytest.raises(ValueError, match="`names` and `values` are both false; read at least one"):
        FeatureConfig(names=False, values=False)


FOR_A_NETWORK = ModelConfig(
    path=Path("model"),
    start=Path("other"),
    features=FeatureConfig(vectors=Path("words.bin")),
    network=NetworkConfig(width=64),
    training=TrainingConfig(epochs=2),
)


def test_keys_of_a_network_that_is_not_trained_are_listed() -> None:
    assert find_unused_keys(FOR_A_NETWORK) == (
        "model.path",
        "model.start",
        "model.features.vectors",
        "model.network",
        "model.training",
    )
    assert find_unused_keys(ModelConfig()) == ()


@pytest.mark.parametrize("scoring", [Scoring.BLEND, Scoring.HIN])
def test_a_trained_network_reads_its_keys(scoring: Scoring) -> None:
    ranking = RankingConfig(scoring=scoring)
    assert find_unused_keys(replace(FOR_A_NETWORK, ranking=ranking)) == ()


KEY = "sk-topsecret-0123456789"


def recipe(**llm: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever a recipe may give
    return {"catalog": {"folder": "lake"}, "model": {"llm": llm}}


def test_it_is_off_unless_a_recipe_names_a_model() -> None:
    assert ModelConfig().llm is None
    assert HyperJoinConfig.model_validate({"catalog": {"folder": "lake"}}).model == ModelConfig()


def test_the_key_can_be_read_and_shows_nowhere() -> None:
    config = HyperJoinConfig.model_validate(recipe(model="small", api_key=KEY))
    llm = config.model.llm
    assert llm is not None
    assert llm.api_key is not None
    assert llm.api_key.get_secret_value() == KEY
    shown = [
        repr(config),
        str(config),
        str(config.model),
        config.model_dump_json(),
        json.dumps(dataclasses.asdict(config.model), default=str),
        str(config.model_dump()),
    ]
    assert [text for text in shown if KEY in text] == []
    assert pickle.loads(pickle.dumps(llm)) == llm  # noqa: S301 - our own bytes


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, r"llm.model\n  Field required"),
        ({"modell": "small"}, r"llm.modell\n  Unexpected keyword argument"),
        ({"base_url": "localhost:8000"}, r"`base_url` must begin with http:// or https://"),
        ({"base_url": "https://"}, r"`base_url` must begin with http:// or https:// and name"),
        ({"base_url": "http://host:port/v1"}, r"Port could not be cast"),
        ({"base_url": "http://a:b@host"}, r"`base_url` must not contain a user or password. Set"),
        ({"api_key": f"{KEY}\n"}, r"`api_key` contains spaces or other characters"),
        ({"api_key": f"{KEY}…"}, r"`api_key` contains spaces or other characters"),
        ({"max_cost": 1}, r"`max_cost` needs `input_price` and `output_price`"),
        ({"concurrency": 0}, r"llm.concurrency\n  Input should be greater than or equal to 1"),
        ({"timeout": 0}, r"llm.timeout\n  Input should be greater than 0"),
    ],
)
def test_a_wrong_key_is_named_without_the_secret(given: dict[str, Any], message: str) -> None:
    named = given if not given else {"model": "small", **given}
    with pytest.raises(ValidationError, match=message) as caught:
        HyperJoinConfig.model_validate(recipe(**{"api_key": KEY, **named}))
    assert KEY not in str(caught.value)
    assert "a:b@" not in str(caught.value)


def test_a_cache_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    tmp_path.joinpath("file").touch()
    for cache, reason in (("file", "it is not a folder"), ("file/names", "file is not a folder")):
        path = str(tmp_path / cache)
        with pytest.raises(ValidationError, match=rf"`model.llm.cache` is .*{reason}"):
            HyperJoinConfig.model_validate(recipe(model="small", cache=path))
    for cache in (".", "new/folder"):
        HyperJoinConfig.model_validate(recipe(model="small", cache=str(tmp_path / cache)))


def test_prices_may_be_nothing() -> None:
    LanguageModelConfig(
        model="own", api_key=SecretStr("x"), max_cost=1.0, input_price=0.0, output_price=0.0
    )
