from dataclasses import asdict, fields, replace
from typing import Any

import pytest

from datahub_hyperjoin.model.config import (
    Edges,
    EpochSelection,
    FeatureConfig,
    Loss,
    ModelConfig,
    Positions,
    Scoring,
    Setting,
)
from datahub_hyperjoin.model.config.paper import fill, paper


def at(config: ModelConfig, key: str) -> object:
    """The value of a key such as `training.epochs`."""
    found: Any = config
    for part in key.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("features.vocabulary", 1500),
        ("features.dimension", 300),
        ("hypergraph.edges", Edges.VARIANTS),
        ("hypergraph.walk_length", 16),
        ("network.width", 512),
        ("network.heads", 8),
        ("network.node_layers", 2),
        ("network.mixer_layers", 2),
        ("network.dropout", 0.05),
        ("network.position_weight", 0.1),
        ("network.structure_weight", 0.5),
        ("network.positions", Positions.LAPLACIAN),
        ("network.name_vectors", False),
        ("training.epochs", 30),
        ("training.warmup_epochs", 3),
        ("training.batch_size", 64),
        ("training.learning_rate", 4e-4),
        ("training.loss", Loss.TRIPLET),
        ("training.margin", 1.0),
        ("training.gradient_clip", 1.0),
        ("training.selection", EpochSelection.LOSS),
        ("ranking.candidates", 50),
        ("ranking.top_k", 25),
        ("ranking.coherence", 1.0),
        ("ranking.affinity", Scoring.HIN),
    ],
)
def test_the_paper_s_setting_is_the_paper_s(key: str, value: object) -> None:
    assert at(paper(), key) == value


def test_the_paper_s_training_never_stops_early_and_learns_every_key() -> None:
    training = paper().training
    assert training.patience >= training.epochs
    assert training.held_out == 0


def test_every_hyperedge_of_the_paper_is_there() -> None:
    graph = paper().hypergraph
    assert graph.within
    assert graph.across
    assert graph.inference
    assert graph.variants


def test_a_setting_beneath_nothing_is_the_setting() -> None:
    assert fill({"setting": "paper"}) == {**asdict(paper()), "setting": "paper"}
    assert fill({"setting": Setting.PAPER}) == asdict(paper())


def test_our_setting_adds_nothing() -> None:
    for written in ({}, {"setting": "ours"}, {"setting": "papre", "training": {"epochs": 1}}):
        assert fill(written) == written


def test_what_is_written_wins_at_every_depth() -> None:
    filled = fill({"setting": "paper", "seed": 3, "ranking": {"affinity": "blend"}})
    assert filled["seed"] == 3
    assert filled["ranking"] == {**asdict(paper().ranking), "affinity": "blend"}
    assert filled["training"] == asdict(paper().training)


def test_what_is_wrong_stays_for_validation_to_name() -> None:
    filled = fill({"setting": "paper", "ranking": None, "training": {"epoch": 1}})
    assert filled["ranking"] is None
    assert filled["training"] == {**asdict(paper().training), "epoch": 1}


def test_a_section_of_the_paper_s_setting_can_be_replaced() -> None:
    ours = replace(paper(), network=ModelConfig().network)
    assert [f.name for f in fields(ours) if getattr(ours, f.name) == getattr(paper(), f.name)] == [
        f.name for f in fields(ours) if f.name != "network"
    ]


def test_something_must_be_read() -> None:
    with pytest.raises(ValueError, match="`names` and `values` are both false; read at least one"):
        FeatureConfig(names=False, values=False)
